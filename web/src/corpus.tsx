// Texts given at the start, sorted by how far this head attends in them.
import { computed, signal } from '@preact/signals';
import { clipped, weight } from './format';
import { compute } from './runs';
import { corpus, model, part, place, report, text, theSource } from './state';

interface Line {
  line: number;
  text: string;
  distance?: number; // none: the model cannot read it
  query: number;
  key: number;
  weight: number;
}
const found = signal<{ head: string; done: number; lines: Line[] } | null>(null);
const headName = computed(() => `${model.value} ${part.value} ${place.value.layer}.${place.value.head}`);
let aborter: AbortController | null = null;
const working = signal(false);
const shownLines = 8,
  turn = 300; // milliseconds of a request

async function start(): Promise<void> {
  const mine = (aborter = new AbortController()),
    head = headName.value,
    where = { model: model.value, part: part.value, ...place.value };
  let lines: Line[] = [];
  working.value = true;
  try {
    for (let from = 0, count = 4; from < corpus.value && head === headName.value; ) {
      const began = performance.now(),
        answer = (await theSource().corpus({ ...where, from, count }, mine.signal)) as { found: Line[] };
      if (mine.signal.aborted) return;
      from += answer.found.length;
      lines = [...lines, ...answer.found.filter((l) => l.distance !== undefined)]
        .sort((a, b) => b.distance! - a.distance!)
        .slice(0, shownLines);
      found.value = { head, done: from, lines };
      const each = (performance.now() - began) / Math.max(1, answer.found.length);
      count = Math.max(1, Math.min(32, Math.round(turn / each)));
      if (answer.found.length === 0) break;
    }
  } catch (error) {
    if (!mine.signal.aborted) report(error);
  } finally {
    if (mine === aborter) working.value = false;
  }
}
function stop(): void {
  aborter?.abort();
  working.value = false;
}

export function Corpus() {
  if (corpus.value === 0 || part.value === 'cross') return null;
  const f = found.value?.head === headName.value ? found.value : null;
  return (
    <div class="corpus" data-test="corpus" aria-busy={working.value}>
      <button type="button" data-test="corpus-start" onClick={() => (working.value ? stop() : void start())}>
        {working.value ? 'Stop' : `Texts in which ${place.value.layer}.${place.value.head} attends far`}
      </button>{' '}
      <small class="quiet" role="status">
        {f
          ? `${f.done} of ${corpus.value} texts; mean distance in tokens, weight of the link that opens`
          : `${corpus.value} texts of the corpus`}
      </small>
      {f && (
        <ol class="found" aria-label="Texts, largest distance first">
          {f.lines.map((l) => (
            <li key={l.line}>
              <button
                type="button"
                title={l.text}
                onClick={() => {
                  text.value = l.text;
                  const { layer, head } = place.value;
                  void compute(
                    { model: model.value, text: l.text },
                    { place: { layer, head }, part: part.value, queries: [l.query], keys: [l.key] },
                  );
                }}
              >
                <b>{l.distance!.toFixed(1)}</b>
                <span dir="auto">{clipped(l.text, 44)}</span>
                <span>{weight(l.weight)}</span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
