"""One forward pass and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

from . import _headlight
from .figure import Figure
from .notebook import Page
from .results import (
    AblationEffect,
    Attribution,
    Comparison,
    Explanation,
    FirstLook,
    Head,
    HeadDifference,
    LinkScore,
    Prediction,
    Statistics,
    Sweep,
    SweptHead,
    TaskEffect,
    TokenEffect,
    TokenProbability,
    Tokens,
    TokenSteps,
    tokens_of,
)
from .weights import Weights

if TYPE_CHECKING:
    from .model import Model

Words = Union[str, int, Tuple[int, int]]  # words of the text, a token's number, or tokens (begin, end)
Place = Tuple[int, int]  # (layer, head)


class Run:
    """The result of ``Model.attend``. Immutable; weights and logits are computed on request.

    >>> import headlight
    >>> run = headlight.load("en").attend("The cat sat on the mat.")
    >>> [word.text for word in run.tokens.words]
    ['The', 'cat', 'sat', 'on', 'the', 'mat', '.']
    >>> run.weights[0, 3].shape == (len(run.tokens), len(run.tokens))
    True
    >>> bool(abs(run.weights[0, 3].sum(axis=1) - 1).max() < 1e-6)
    True
    """

    def __init__(self, model: "Model", data: Any) -> None:
        self.model = model
        self._data = data

    # Tokens.

    @property
    def parts(self) -> List[str]:
        """Kinds of attention that were kept: 'encoder', 'decoder', 'cross'."""
        return list(self._data.parts())

    @property
    def part(self) -> str:
        """The default part: the one that reads the source text."""
        parts = self.parts
        if not parts:
            raise _headlight.Error("the run kept no attention; leave parts out, or name one that the model has")
        return parts[0]

    @property
    def tokens(self) -> Tokens:
        """Tokens of the source text."""
        return tokens_of(self._data.source())

    @property
    def target(self) -> Tokens:
        """Tokens of the translation of an encoder-decoder; empty for other models."""
        return tokens_of(self._data.target())

    def queries(self, part: Optional[str] = None) -> Tokens:
        """Tokens of the rows of a part's weights."""
        return tokens_of(self._data.queries(part or self.part))

    def keys(self, part: Optional[str] = None) -> Tokens:
        """Tokens of the columns of a part's weights."""
        return tokens_of(self._data.keys(part or self.part))

    # Numbers.

    @property
    def weights(self) -> Weights:
        return Weights(self, self.part)

    def scores(self, layer: int, head: int, *, part: Optional[str] = None) -> Any:
        """Scores before the softmax, [query, key]; -inf where a query cannot see a key."""
        return self._data.scores(part or self.part, layer, head)

    def values(self, layer: int, head: int, *, part: Optional[str] = None) -> Any:
        """[key, value width]."""
        return self._data.values(part or self.part, layer, head)

    def statistics(self, layer: int, head: int, *, part: Optional[str] = None) -> Statistics:
        return Statistics(**self._data.statistics(part or self.part, layer, head))

    def heat_map(
        self, layer: int, head: int, *, rows: int, columns: int, mean: bool = False, part: Optional[str] = None
    ) -> Any:
        """The weights pooled into this number of cells: each is the largest of its area, or the mean."""
        return self._data.heat_map(part or self.part, layer, head, rows, columns, mean)

    @property
    def logits(self) -> Any:
        """[position, token of the vocabulary], float32."""
        return self._data.logits(None, None)

    def logits_at(self, position: int) -> Any:
        """Logits of one position, without computing the others."""
        place = range(self._data.positions())[position] if self._data.positions() else 0
        return self._data.logits((place, place + 1), None)[0]

    @property
    def hidden_states(self) -> Any:
        """[position, width]: hidden states before the logits."""
        return self._data.hidden_states()

    @property
    def nbytes(self) -> int:
        return int(self._data.nbytes())

    def prediction(self, position: int = -1, *, count: int = 5) -> Prediction:
        """The most likely tokens at a position."""
        positions = self._data.positions()
        place = position + positions if position < 0 else position
        data = self._data.prediction(place, count)

        def named(entry: Any) -> TokenProbability:
            return TokenProbability(entry[0], self.model.token_text(entry[0]), entry[1], entry[2])

        actual = data["actual"]
        return Prediction([named(entry) for entry in data["top"]], named(actual) if actual else None, data["rank"])

    def replay(self, observe: Any) -> None:
        """Calls a function with the attention of every kept layer, as during the run."""
        self._data.replay(observe)

    # Questions.

    def _tokens_at(self, words: Optional[Words], part: str, of_keys: bool) -> Optional[Tuple[int, int]]:
        if words is None or isinstance(words, tuple):
            return words
        if isinstance(words, str):
            begin, end = _headlight.find_words(self._data, part, of_keys, words)
            return (begin, end)
        count = len(self._data.keys(part)["tokens"] if of_keys else self._data.queries(part)["tokens"])
        place = int(words) + count if int(words) < 0 else int(words)
        return (place, place + 1)

    def first_look(
        self,
        *,
        query: Optional[Words] = None,
        key: Optional[Words] = None,
        part: Optional[str] = None,
        heads: Optional[List[Place]] = None,
    ) -> FirstLook:
        """The link to show first: the one farthest above chance level. Arguments fix query, key, part or heads.

        >>> import headlight
        >>> look = headlight.load("en-fr").attend("The cat sat because it was tired.").first_look(query="it")
        >>> look.query_text, look.weight > look.chance
        ('it', True)
        """
        part = part or self.part
        data = _headlight.first_look(
            self._data, part, heads, self._tokens_at(query, part, False), self._tokens_at(key, part, True)
        )
        data["head"] = Head(*data["head"])
        data["query_text"] = _text_of(self.queries(part), data["query"])
        data["key_text"] = _text_of(self.keys(part), data["key"])
        return FirstLook(**data)

    def explain(
        self, query: Words, key: Optional[Words] = None, *, layer: Optional[int] = None, head: Optional[int] = None,
        part: Optional[str] = None,
    ) -> Explanation:  # fmt: skip
        """One weight step by step, in float64. Without layer and head: those of the strongest link of the two.

        >>> import headlight
        >>> run = headlight.load("en").attend("The cat sat on the mat.")
        >>> steps = run.explain("sat", "cat", layer=0, head=3)
        >>> abs(steps.weight - run.weights[0, 3, steps.query.token, steps.key.token]) < 1e-6
        True
        """
        part = part or self.part
        at_query, at_key = self._tokens_at(query, part, False), self._tokens_at(key, part, True)
        if layer is None or head is None or at_key is None:
            only = None if layer is None or head is None else [(layer, head)]
            look = self.first_look(query=at_query, key=at_key, part=part, heads=only)
            layer, head, at_key = look.head.layer, look.head.head, look.key
        assert at_query is not None
        data = _headlight.explain(self._data, part, layer, head, at_query[1] - 1, at_key[1] - 1)
        data["query"], data["key"] = TokenSteps(**data["query"]), TokenSteps(**data["key"])
        return Explanation(head=Head(part, layer, head), **data)

    def links(self, link: str, *, part: Optional[str] = None) -> List[LinkScore]:
        """The weight of a link in every head, largest first: "it->animal", or "it->?" for the largest weight of each head."""
        return [
            LinkScore(Head(*head), weight, chance, key)
            for head, weight, chance, key in _headlight.find_links(self._data, link, part or self.part)
        ]

    def compare(
        self, other: "Run", *, part: Optional[str] = None, query: Optional[str] = None, head: Optional[Place] = None,
        other_head: Optional[Place] = None, progress: Any = None,
    ) -> Comparison:  # fmt: skip
        """Compares this run with another one, of this model or another."""
        data = _headlight.compare(self._data, other._data, part, query, head, other_head, progress)
        data["heads"] = [HeadDifference(Head(*a), Head(*b), distance) for a, b, distance in data["heads"]]
        return Comparison(**data)

    def ablate(
        self,
        heads: Optional[List[Place]] = None,
        *,
        change: str = "zero",
        part: Optional[str] = None,
        factor: float = 1.0,
        mean_texts: Optional[List[str]] = None,
        patch: Optional[str] = None,
        queries: Optional[List[Words]] = None,
        links: Optional[List[Tuple[Words, Words]]] = None,
        position: Optional[int] = None,
        top: int = 5,
        translate: bool = False,
        task_text: Optional[str] = None,
        progress: Any = None,
        threads: Optional[int] = None,
    ) -> AblationEffect:
        """Changes heads (default: all of the part) and reports the effect on the predictions.

        change: 'zero', 'mean' (over mean_texts), 'scale' (by factor), 'patch' (their outputs for another text), 'cut-mask' or
        'cut-weight' (single links). queries: only at these words. translate: also translate with the change.
        task_text: a longer text whose loss is measured before and after.

        >>> import headlight
        >>> run = headlight.load("en").attend("Once upon a time there was a little")
        >>> run.ablate([(0, 0)]).mean_kl > 0
        True
        """
        part = part or self.part
        tokens = [self._tokens_at(words, part, False) for words in queries] if queries else None
        pairs = [(self._tokens_at(a, part, False), self._tokens_at(b, part, True)) for a, b in links] if links else None
        data = _headlight.ablate(
            self._data, part, heads, change, factor, mean_texts, {"text": patch} if patch is not None else None, tokens,
            pairs, position, top, translate, task_text, progress, threads,
        )  # fmt: skip
        data["tokens"] = [TokenEffect(entry[0], self.model.token_text(entry[0]), *entry[1:]) for entry in data["tokens"]]
        if data["task_loss"]:
            data["task_loss"] = TaskEffect(*data["task_loss"])
        return AblationEffect(**data)

    def sweep(
        self, *, parts: Optional[List[str]] = None, change: str = "zero", mean_texts: Optional[List[str]] = None,
        position: Optional[int] = None, token: Union[int, str, None] = None, task_text: Optional[str] = None,
        progress: Any = None, threads: Optional[int] = None,
    ) -> Sweep:  # fmt: skip
        """Removes every head in turn."""
        if isinstance(token, str):
            token = self.model.find_token(token)
        data = _headlight.sweep(self._data, parts, change, mean_texts, position, token, task_text, progress, threads)
        data["heads"] = [SweptHead(Head(*entry[:3]), *entry[3:]) for entry in data["heads"]]
        return Sweep(**data)

    def attribute(self, *, position: Optional[int] = None, token: Union[int, str, None] = None) -> Attribution:
        """Direct effect of each head on the logit of a token."""
        if isinstance(token, str):
            token = self.model.find_token(token)
        data = _headlight.attribute(self._data, position, token)
        data["heads"] = {Head(part, layer, head): logit for part, layer, head, logit in data["heads"]}
        return Attribution(**data)

    # Pictures.

    def figure(self, **options: Any) -> Figure:
        """A figure for a notebook, or a .png, .svg or .pdf file.

        Which numbers: part, layer, heads=[(layer, head), …], all=True, mean='heads' or 'layers', rollout=True, query='it',
        key='animal', by_head, words, of='weights', 'scores' or 'values', exclude_self, mute_first, mute_special,
        renormalize. How they look: theme='light' or 'dark', palette, transfer='linear', 'sqrt' or 'log', auto_range,
        numbers, width_mm, font_size, dpi, bars, caption.
        """
        return Figure(self._data, options)

    def show(
        self, *, layer: Optional[int] = None, head: Optional[int] = None, part: Optional[str] = None, height: int = 720,
        max_bytes: int = 25 << 20,
    ) -> Page:  # fmt: skip
        """The viewer with this run inside, for a notebook: one self-contained page in a sandboxed frame."""
        part = part or self.part
        page = _headlight.page(self._data, part, -1 if layer is None else layer, -1 if head is None else head, max_bytes)
        return Page(page.decode(), height)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    def __repr__(self) -> str:
        return f"<run of {self.model.info.name}: {len(self.tokens)} tokens, {', '.join(self.parts)} attention>"


def _text_of(tokens: Tokens, place: Tuple[int, int]) -> str:
    return "".join(token.text for token in tokens.tokens[place[0] : place[1]]).strip()
