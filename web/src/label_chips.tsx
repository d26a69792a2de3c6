// The labels of the chosen head, with score and lift; a click explains a label.
import { headLabels, indexOf, labelName, loadingLabels, type LabelScore } from './head_names';
import { computeText } from './runs';
import { labelled, offline, part, place, run, shownPlace, text } from './state';

const meanings: [string, string][] = [
  ['previous', 'mean weight on the token before, at least 0.4'],
  ['current', 'mean weight on the token itself, at least 0.4'],
  ['next', 'mean weight on the token after, at least 0.4'],
  ['offset', 'mean weight a fixed number of tokens back, at least 0.3, whatever the words are'],
  ['first', 'mean weight on the first token, at least 0.5: a sink'],
  ['delimiter', 'weight on special tokens and punctuation above their uniform share, at least 0.5'],
  ['duplicate', 'weight on earlier copies of the same token, at least 0.3'],
  ['induction', 'weight on the tokens after earlier copies of the same token, at least 0.3'],
  ['local', 'a few neighbours hold 80 % of the weight'],
  ['broad', 'spread over nearly all keys: entropy at least 0.9 of its maximum'],
  ['aligned', 'cross-attention: weight moves along the text with the translation'],
  ['end', 'cross-attention: weight on the end of the text, a sink'],
  ['none', 'none of these'],
];

function Chip({ l }: { l: LabelScore }) {
  return (
    <span class="label-chip" data-label={l.label} title={`over ${l.rows} rows`}>
      <b>{labelName(l)}</b>
      {l.score !== null && ` ${l.score.toFixed(2)}`}
      {l.lift !== null && <small> ×{l.lift.toFixed(1)}</small>}
    </span>
  );
}

export function LabelChips() {
  if (!labelled.value || offline.value) return null;
  const heads = headLabels.value,
    h = heads?.[indexOf(shownPlace.value)];
  if (!heads)
    return <p class="hint">{loadingLabels.value ? 'Scoring the heads on this text and on the battery…' : ' '}</p>;
  const row = (name: string, list: LabelScore[], title: string) => (
    <p title={title}>
      <span class="quiet">{name}</span> {list.length > 0 ? list.map((l) => <Chip key={l.label} l={l} />) : 'none'}
    </p>
  );
  return (
    <div class="label-chips" data-test="labels">
      {h && row('this text', h.text, 'Scores on this text; × is the lift over uniform attention')}
      {h && row('battery', h.battery, 'Fixed texts: repeated random tokens, shuffled text, prose')}
      {h?.similar && h.similar.length > 0 && (
        <p title="Cosine of all weights of both heads on the battery">
          <span class="quiet">similar</span>{' '}
          {h.similar.map(({ layer, head, cosine }) => (
            <button
              type="button"
              class="tag"
              key={`${layer}.${head}`}
              data-test="similar"
              onClick={() => (place.value = { layer, head })}
            >
              {layer}.{head} <small>{cosine.toFixed(2)}</small>
            </button>
          ))}
        </p>
      )}
      {part.value !== 'cross' && (
        <button
          type="button"
          class="plain-link"
          title="Induction and duplicates show in texts that repeat"
          data-test="repeat"
          onClick={() => {
            text.value = `${run.value!.text} ${run.value!.text}`;
            computeText(text.value);
          }}
        >
          Repeat this text
        </button>
      )}
      <details>
        <summary>What labels mean</summary>
        <dl>
          {meanings.map(([name, what]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p>
          A label also needs twice the weight of uniform attention. Scores are means over rows with at least four keys.
        </p>
      </details>
    </div>
  );
}
