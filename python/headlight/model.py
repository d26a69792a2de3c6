"""Models: open, tokenize, run, change, generate."""

from __future__ import annotations

import os
import pathlib
import queue
import sys
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

from . import _headlight
from .results import (
    AblationEffect,
    Comparison,
    Evaluation,
    Generated,
    GeneratedToken,
    Head,
    HeadFigures,
    LabelledHead,
    ModelInfo,
    Sweep,
    Tokens,
    Translation,
)
from .run import Run

Text = Union[str, Sequence[int]]  # a text, or token ids in its place


def model_places() -> List[str]:
    """Folders that ``load`` searches for a name: $HEADLIGHT_MODELS, ./models, that of the package, that of the system."""
    places = [os.environ.get("HEADLIGHT_MODELS", ""), "models", str(pathlib.Path(__file__).parent / "models")]
    places += [os.path.join(prefix, "share", "headlight", "models") for prefix in (sys.prefix, "/usr/local", "/usr")]
    return [place for place in dict.fromkeys(places) if place and os.path.isdir(place)]


def load(name_or_path: Union[str, "os.PathLike[str]"]) -> "Model":
    """Opens a model: a folder (config.json and safetensors), a .gguf file, or a name such as 'en' or 'en-fr'.

    >>> import headlight
    >>> headlight.load("en")
    <headlight-en: decoder, ... layers, ... million parameters>
    >>> headlight.load("nothing-of-that-name")
    Traceback (most recent call last):
        ...
    headlight.Error: ...
    """
    return Model(_headlight.Model.open(os.fspath(name_or_path), model_places()))


class Model:
    """A model; ``load`` opens one. Immutable: any number of threads may use it."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.info = ModelInfo(**data.info())

    @property
    def name(self) -> str:
        return self.info.name

    def __repr__(self) -> str:
        layers = max((len(heads) for heads in self.info.parts.values()), default=0)
        return f"<{self.name}: {self.info.kind}, {layers} layers, {self.info.parameters / 1e6:.1f} million parameters>"

    # Tokens.

    def encode(self, text: str, *, special: bool = True) -> List[int]:
        """Token ids. special: include the special tokens around a text."""
        ids: List[int] = self._data.encode(text, special)
        return ids

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of token ids. special: include the names of special tokens."""
        return str(self._data.decode(ids, special))

    def tokenize(self, text: str) -> Tokens:
        """The tokens of a text, with their offsets.

        >>> import headlight
        >>> tokens = headlight.load("en").tokenize("The cat sat.")
        >>> [word.text for word in tokens.words]
        ['The', 'cat', 'sat', '.']
        >>> last = tokens[-1]
        >>> last.text, last.begin, last.end
        ('.', 11, 12)
        """
        from .results import tokens_of

        return tokens_of(self._data.tokenize(text))

    def token_text(self, id: int) -> str:
        """The text of a token; for one that is not a text by itself, its name in the vocabulary."""
        try:
            return self.decode([id]) or str(self._data.token(id))
        except _headlight.Error:
            return str(id)

    def find_token(self, text: str) -> int:
        """One token of the vocabulary, by its text, with or without a space before it."""
        return int(_headlight.find_token(self._data, text))

    # Runs.

    def attend(
        self,
        text: Text,
        *,
        target: Optional[Text] = None,
        second: Optional[str] = None,
        parts: Optional[Sequence[str]] = None,
        observe: Any = None,
        intervene: Any = None,
        threads: Optional[int] = None,
    ) -> Run:
        """One forward pass, whose weights and logits can be queried afterwards.

        target: the translation (default: an encoder-decoder generates its own). second: for encoders that read two
        texts. parts: keep only the attention of these ('encoder', 'decoder', 'cross').
        observe: called with an event for each attention (event.kind 'attention': q, k, v, weights(head)), each state of the
        residual stream ('residual': x) and each choice of experts ('experts'). intervene: called with (event, z), z [token,
        head, dim] being the outputs of the heads; changes z, or returns another array. headlight.Intervention changes attention
        weights, the residual stream and masks.

        >>> import headlight
        >>> model, norms = headlight.load("en"), []
        >>> run = model.attend("The cat", observe=lambda e: e.kind == "residual" and norms.append(abs(e.x).max()))
        >>> len(norms) == len(model.info.parts["decoder"]) + 1
        True
        """
        prompt = prompt_of(text, target=target, second=second)
        return Run(self, self._data.attend(prompt, parts, True, observe, intervene, threads))

    def label_heads(
        self, texts: Sequence[str], *, progress: Any = None, threads: Optional[int] = None
    ) -> List[LabelledHead]:
        """Labels for every head, on these texts and on a fixed test set (battery)."""
        found = _headlight.label_heads(self._data, texts, progress, threads)
        return [
            LabelledHead(Head(part, layer, head), HeadFigures(**text), HeadFigures(**battery))
            for part, layer, head, text, battery in found
        ]

    def ablate(self, text: Text, heads: Any = None, **options: Any) -> AblationEffect:
        """Changes heads in a run of this text; the options are those of Run.ablate."""
        return self.attend(text).ablate(heads, **options)

    def sweep(self, text: Text, **options: Any) -> Sweep:
        """Removes every head in turn in a run of this text; the options are those of Run.sweep.

        >>> import headlight
        >>> swept = headlight.load("en").sweep("Once upon a time there was a little")
        >>> swept.strongest.kl > 0
        True
        """
        return self.attend(text).sweep(**options)

    def compare(self, text: Text, other: Union[Text, "Model"], **options: Any) -> Comparison:
        """Compares two texts on this model, or one text on this model and another."""
        if isinstance(other, Model):
            return self.attend(text).compare(other.attend(text), **options)
        return self.attend(text).compare(self.attend(other), **options)

    # Writing.

    def generate(
        self,
        text: Any,
        *,
        stream: bool = False,
        max_tokens: int = 200,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        seed: int = 0,
        stop: Optional[Sequence[str]] = None,
        stop_at_end: bool = True,
        observe: Any = None,
        intervene: Any = None,
        progress: Any = None,
        threads: Optional[int] = None,
    ) -> Any:
        """Continues a text, or each text of a list. With stream=True an iterator of tokens.

        >>> import headlight
        >>> model = headlight.load("en")
        >>> whole = model.generate("Once upon a time", max_tokens=8)
        >>> "".join(token.text for token in model.generate("Once upon a time", max_tokens=8, stream=True)) == whole.text
        True
        """
        options = {
            "max_tokens": max_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p,
            "repetition_penalty": repetition_penalty, "seed": seed, "stop_at_end": stop_at_end, "stops": stop or [],
        }  # fmt: skip
        many = isinstance(text, (list, tuple)) and all(isinstance(one, str) for one in text)
        prompts = [prompt_of(one) for one in (text if many else [text])]

        def call(on_token: Any, report: Any) -> List[Dict[str, Any]]:
            found: List[Dict[str, Any]] = _headlight.generate(
                self._data, prompts, options, on_token, observe, intervene, report, threads
            )
            return found

        if stream:
            if many:
                raise _headlight.Error("stream=True takes one text; generate a list of texts without it")
            return _stream(call)
        texts = [Generated(**one) for one in call(None, progress)]
        return texts if many else texts[0]

    def translate(
        self, texts: Union[str, Sequence[str]], *, beams: int = 4, length_penalty: float = 1.0, max_tokens: int = 0,
        intervene: Any = None, progress: Any = None, threads: Optional[int] = None,
    ) -> Any:  # fmt: skip
        """The translation of a text, or of each text of a list.

        >>> import headlight
        >>> headlight.load("en-fr").translate("The cat is tired.").text
        'Le chat est ...'
        """
        one = isinstance(texts, str)
        found = _headlight.translate(
            self._data, [texts] if one else texts, beams, length_penalty, max_tokens, intervene, progress, threads
        )
        translations = [Translation(*entry) for entry in found]
        return translations[0] if one else translations

    def evaluate(
        self, documents: Union[str, Sequence[str]], *, context: int = 0, progress: Any = None,
        threads: Optional[int] = None,
    ) -> Evaluation:  # fmt: skip
        """The loss of a decoder on a text; each document is evaluated separately."""
        texts = [documents] if isinstance(documents, str) else documents
        return Evaluation(**_headlight.evaluate(self._data, texts, context, progress, threads))


def prompt_of(text: Text, *, target: Optional[Text] = None, second: Optional[str] = None) -> Dict[str, Any]:
    if isinstance(text, (bytes, bytearray)):
        raise _headlight.Error("the text is bytes; need a str (decode it) or token ids")
    prompt: Dict[str, Any] = {"text": text} if isinstance(text, str) else {"ids": text}
    if target is not None:
        prompt["target" if isinstance(target, str) else "target_ids"] = target
    if second is not None:
        prompt["second"] = second
    return prompt


def _stream(call: Any) -> Iterator[GeneratedToken]:
    """Tokens as they are generated, by a thread that is at most a few tokens ahead of its reader."""
    tokens: "queue.Queue[Any]" = queue.Queue(maxsize=4)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        # Nobody reads any more when the iterator was closed, or the interpreter is about to end.
        while not stopped.is_set() and threading.main_thread().is_alive():
            try:
                tokens.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def write() -> None:
        end: Any = None
        try:
            shown: List[str] = []

            def on_token(_item: int, id: int, log_probability: float, text: str) -> bool:
                shown.append(text)
                return put(GeneratedToken(id, text, log_probability))

            found = call(on_token, None)[0]
            # What was held back while it could have been the beginning of a stop string.
            rest = found["text"][len("".join(shown)) :]
            if rest:
                put(GeneratedToken(-1, rest, 0.0))
        except BaseException as problem:  # told to the reader, whatever it is
            end = problem
        put(end)

    writer = threading.Thread(target=write, name="headlight-stream")

    def read() -> Iterator[GeneratedToken]:
        writer.start()
        try:
            while True:
                item = tokens.get()
                if isinstance(item, GeneratedToken):
                    yield item
                elif item is None:
                    return
                else:
                    raise item
        finally:
            stopped.set()
            while not tokens.empty():  # the writer may be waiting for room
                tokens.get_nowait()
            writer.join()

    return read()
