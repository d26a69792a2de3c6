// The picture in a sentence, with what even attention would give beside it.
import { headline, nameOf } from './finding';
import { clipped, digits, share } from './format';
import { leastLift } from './links';
import { busy, guessing, keyReading, queryReading, run, shownPlace, stale } from './state';

const name = (text: string) => <q dir="auto">{clipped(text, 24)}</q>;

function Sentence() {
  const l = headline.value!,
    at = shownPlace.value,
    from = name(nameOf(queryReading.value, l.from)),
    to = name(nameOf(keyReading.value, l.to)),
    lift = l.weight / l.chance,
    plain = lift < leastLift;
  if (l.chance === 0)
    return (
      <>
        <p class="says" data-test="finding">
          Layer {at.layer} head {at.head}: {from} cannot see {to}.
        </p>
        <Note> </Note>
      </>
    );
  return (
    <>
      <p class={`says${plain ? ' plain' : ''}`} data-test="finding" key={`${l.from} ${l.to} ${l.weight}`}>
        Layer {at.layer} head {at.head} sends{' '}
        <b data-test="headline" data-value={l.weight}>
          {share(l.weight)}
        </b>{' '}
        of {from} to {to}
        {plain
          ? `, ${lift < 0.5 ? 'less than' : 'about as much as'} chance`
          : l.chosen
            ? ''
            : ', more than to any other'}
        .
      </p>
      <Note>
        {l.how && `${l.how[0].toUpperCase()}${l.how.slice(1)}. `}
        Spread evenly over the {l.visible} tokens it can see, that would be {share(l.chance)}: {digits(lift, 2)} times
        as much{plain ? ', which is no finding' : ''}.
      </Note>
    </>
  );
}

// While the picture is of another text than the field, that is said in this place.
function Note({ children }: { children: preact.ComponentChildren }) {
  return (
    <p class="quiet" data-test={stale.value ? 'stale' : 'uniform'} key={headline.value?.weight}>
      {stale.value
        ? `The picture shows “${clipped(run.value!.text, 60)}”${busy.value ? '' : '; press Enter'}.`
        : children}
    </p>
  );
}

export function Finding() {
  return (
    <section class="finding" aria-label="Finding">
      {guessing.value ? (
        <p class="says">What does it look at? Guess first.</p>
      ) : headline.value ? (
        <Sentence />
      ) : (
        <>
          <p class="says">{run.value ? 'Pin a word to see where it looks.' : busy.value ? 'Computing…' : ' '}</p>
          <Note> </Note>
        </>
      )}
    </section>
  );
}
