// The picture in a sentence, compared with uniform attention.
import { headline, nameOf } from './finding';
import { clipped, digits, plural, share, shown } from './format';
import { changed } from './knockout';
import { leastLift } from './links';
import { isDerived } from './numbers';
import { nameOfHeads } from './several';
import { busy, guessing, keyReading, queryReading, run, shownPlace, stale } from './state';

const name = (text: string) => <q dir="auto">{clipped(text, 24)}</q>;

function Sentence() {
  const l = headline.value!,
    at = shownPlace.value,
    from = name(nameOf(queryReading.value, l.from)),
    to = name(nameOf(keyReading.value, l.to)),
    lift = l.weight / l.chance,
    [least, most] = l.visible,
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
        {isDerived.value ? nameOfHeads() : `Layer ${at.layer} head ${at.head}`} sends{' '}
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
        Spread evenly over {least === most
          ? `the ${plural(most, 'token')} it`
          : `the ${least} to ${most} tokens they`}{' '}
        can see, that would be {share(l.chance)}: {lift < 100 ? digits(lift, 2) : Math.round(lift)} times as much
        {plain ? ': chance level' : ''}.
        <Changed />
      </Note>
    </>
  );
}

// With heads removed: what became of the likeliest token.
function Changed() {
  const e = changed.value?.effect,
    top = e?.tokens[0];
  if (!e || !top) return null;
  return (
    <span data-test="effect-line">
      {' '}
      With the change, <q dir="auto">{clipped(shown(top.text), 16)}</q> goes from {digits(top.before, 2)} to{' '}
      {digits(top.after, 2)}; KL {digits(e.kl[e.position], 2)} nats.
    </span>
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
