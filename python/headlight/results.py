"""Result types of models and runs. Ranges of tokens are pairs (begin, end)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

Range = Tuple[int, int]


class Head(NamedTuple):
    """One head of a model. part: 'encoder', 'decoder' or 'cross'."""

    part: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.part} {self.layer}.{self.head}"


class Token(NamedTuple):
    """begin and end count characters of the text. special: added around the text by the tokenizer."""

    id: int
    text: str
    begin: int
    end: int
    special: bool
    word: int
    type: int


class Word(NamedTuple):
    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it."""

    text: str
    tokens: List[Token]
    words: List[Word]

    @property
    def ids(self) -> List[int]:
        return [token.id for token in self.tokens]

    @property
    def texts(self) -> List[str]:
        return [token.text for token in self.tokens]

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Any:
        return iter(self.tokens)

    def __getitem__(self, at: Any) -> Any:
        return self.tokens[at]

    def __repr__(self) -> str:
        return f"Tokens({self.texts!r})"


@dataclass(frozen=True)
class ModelInfo:
    """parts: how many heads each layer has. context: maximum number of tokens; 0: no known limit."""

    name: str
    path: str
    family: str
    kind: str
    parts: Dict[str, List[int]]
    width: int
    vocabulary: int
    context: int
    parameters: int
    nbytes: int
    has_logits: bool
    notices: List[str]


@dataclass(frozen=True)
class Statistics:
    """entropy (nats), largest_weight and largest_key of each query; received: the sum of each key's weights."""

    entropy: Any
    largest_weight: Any
    largest_key: Any
    received: Any


class TokenProbability(NamedTuple):
    id: int
    text: str
    probability: float
    logit: float


@dataclass(frozen=True)
class Prediction:
    """rank: of the token that the text has there, from 1; 0: there is none."""

    top: List[TokenProbability]
    actual: Optional[TokenProbability]
    rank: int


@dataclass(frozen=True)
class FirstLook:
    """The link to show first, from whole word to whole word, and the head that makes it."""

    head: Head
    query: Range
    key: Range
    query_text: str
    key_text: str
    weight: float
    chance: float
    heads_searched: int
    reason: str

    @property
    def lift(self) -> float:
        return self.weight / self.chance if self.chance > 0 else 0.0


@dataclass(frozen=True)
class TokenSteps:
    """Intermediate vectors from a token to its query or key; None: the model has no such step."""

    token: int
    x: Any
    projected: Any
    normed: Any
    turned: Any
    ready: Any


@dataclass(frozen=True)
class Explanation:
    """One weight with all intermediate numbers, in float64. Rows have a number for each key; NaN: the query cannot see it.

    kernel_gap and reference_gap: the largest difference of a weight from the model's own and from the reference.
    """

    head: Head
    query: TokenSteps
    key: TokenSteps
    seen: Range
    scale: float
    softcap: float
    slope: float
    sink: Optional[float]
    dots: Any
    scaled: Any
    capped: Any
    alibi: Any
    bias: Any
    scores: Any
    exps: Any
    weights: Any
    context: Any
    output: Any
    kernel_weights: Any
    top: float
    sum: float
    kernel_gap: float
    reference_gap: float

    @property
    def weight(self) -> float:
        return float(self.weights[self.key.token])


@dataclass(frozen=True)
class HeadFigures:
    """label: 'induction, first', …; scores: of each pattern, None if the pattern cannot occur."""

    label: str
    labels: List[str]
    scores: Dict[str, Optional[float]]
    entropy: float
    effective_keys: float
    mean_distance: float
    sink_share: float
    largest_weight: float


class LabelledHead(NamedTuple):
    """Labels of a head on the texts and on a fixed test set (battery)."""

    head: Head
    text: HeadFigures
    battery: HeadFigures

    @property
    def label(self) -> str:
        return self.text.label


class LinkScore(NamedTuple):
    """chance: weight of uniform attention. key: for 'it->?' the token with the largest weight."""

    head: Head
    weight: float
    chance: float
    key: Optional[int]


class HeadDifference(NamedTuple):
    a: Head
    b: Head
    distance: float


@dataclass(frozen=True)
class Comparison:
    """rows and columns: which tokens or words of the two runs correspond; -1: none. heads: most different first."""

    by_words: bool
    rows: List[Tuple[int, int]]
    columns: List[Tuple[int, int]]
    heads: List[HeadDifference]
    weights_a: Any
    weights_b: Any


class TokenEffect(NamedTuple):
    id: int
    text: str
    before: float
    after: float
    logit_before: float
    logit_after: float
    rank_before: int
    rank_after: int


class TaskEffect(NamedTuple):
    """error: standard error of the difference; size: tokens or sentences."""

    before: float
    after: float
    error: float
    size: int


@dataclass(frozen=True)
class AblationEffect:
    """kl: of each position's prediction, nats. tokens: the most likely at `position` before and after."""

    kl: List[float]
    mean_kl: float
    position: int
    tokens: List[TokenEffect]
    loss_before: Optional[float]
    loss_after: Optional[float]
    translation_before: Optional[str]
    translation_after: Optional[str]
    task_loss: Optional[TaskEffect]


class SweptHead(NamedTuple):
    """One head removed: kl at the position and its mean, and changes of log-probability and loss."""

    head: Head
    kl: float
    mean_kl: float
    log_probability: float
    loss: float
    direct: Optional[float]
    task_loss: Optional[float]


@dataclass(frozen=True)
class Sweep:
    """Every head removed in turn; `probability` is that of the token without a change."""

    position: int
    token: int
    probability: float
    task_loss: Optional[float]
    heads: List[SweptHead]

    @property
    def strongest(self) -> SweptHead:
        return max(self.heads, key=lambda head: head.kl)


@dataclass(frozen=True)
class Attribution:
    """Direct effects of heads and other components on the logit of a token."""

    position: int
    token: int
    heads: Dict[Head, float]
    embedding: float
    feed_forward: float
    biases: float
    logit: float


@dataclass(frozen=True)
class Generated:
    """ending: 'length', 'end', 'context' or 'stop'."""

    prompt_ids: List[int]
    ids: List[int]
    log_probabilities: List[float]
    text: str
    ending: str

    def __str__(self) -> str:
        return self.text


class GeneratedToken(NamedTuple):
    """text: printable text so far; empty while a character is incomplete or may begin a stop string.

    id: -1 for a last piece of text that had been held back and belongs to earlier tokens.
    """

    id: int
    text: str
    log_probability: float


class Translation(NamedTuple):
    text: str
    ids: List[int]
    score: float


@dataclass(frozen=True)
class Evaluation:
    """The loss of a model on a text."""

    nats: float
    tokens: int
    nbytes: int
    documents: int
    nats_per_token: float
    bits_per_byte: float
    perplexity: float


def tokens_of(data: Dict[str, Any]) -> Tokens:
    return Tokens(data["text"], [Token(*token) for token in data["tokens"]], [Word(*word) for word in data["words"]])
