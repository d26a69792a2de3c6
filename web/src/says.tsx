// The picture in a sentence, with what even attention would give beside it.
import { computed } from '@preact/signals';
import { linkWeight, nameOf, seen } from './finding';
import { clipped, digits, share } from './format';
import { activeRow, shownMap } from './numbers';
import {
  activeQueries,
  busy,
  guessing,
  hoverCell,
  keyReading,
  keys,
  partInfo,
  queryReading,
  run,
  shownPlace,
} from './state';

const finding = computed(() => {
  const map = shownMap.value,
    p = partInfo.value,
    list = activeQueries.value,
    at = shownPlace.value;
  if (!map || !p || list.length === 0) return null;
  const to = hoverCell.value ? [hoverCell.value.key] : keys.value;
  const visible = seen(map, list[list.length - 1], p.columns);
  let target = to,
    chosen = true;
  if (to.length === 0) {
    const row = activeRow.value;
    if (!row) return null;
    let top = 0;
    row.forEach((w, j) => {
      if (w > (row[top] || 0)) top = j;
    });
    target = [top];
    chosen = false;
  }
  const w = linkWeight(map, list, target, p.columns),
    even = target.filter((j) => !Number.isNaN(map[list[0] * p.columns + j])).length / Math.max(1, visible);
  return {
    at,
    w,
    even,
    visible,
    chosen,
    from: nameOf(queryReading.value, list),
    to: nameOf(keyReading.value, target),
    masked: even === 0,
  };
});

export function Finding() {
  const f = finding.value;
  return (
    <section class="finding" aria-label="Finding">
      {guessing.value ? (
        <p class="says">What does it look at? Guess first.</p>
      ) : f ? (
        <>
          <p class="says" data-test="finding" key={`${f.from} ${f.to} ${f.w}`}>
            {f.masked ? (
              <>
                Layer {f.at.layer} head {f.at.head}: <q dir="auto">{clipped(f.from, 24)}</q> cannot see{' '}
                <q dir="auto">{clipped(f.to, 24)}</q>.
              </>
            ) : (
              <>
                Layer {f.at.layer} head {f.at.head} sends <b>{share(f.w)}</b> of <q dir="auto">{clipped(f.from, 24)}</q>{' '}
                to <q dir="auto">{clipped(f.to, 24)}</q>
                {f.chosen ? '' : ', more than to any other'}.
              </>
            )}
          </p>
          {!f.masked && (
            <p class="quiet" data-test="uniform" key={f.w / f.even}>
              Spread evenly over the {f.visible} tokens it can see, that would be {share(f.even)}:{' '}
              {digits(f.w / f.even, 2)} times as much.
            </p>
          )}
        </>
      ) : (
        <>
          <p class="says">{run.value ? 'Pin a word to see where it looks.' : busy.value ? 'Computing…' : ' '}</p>
          <p class="quiet"> </p>
        </>
      )}
    </section>
  );
}
