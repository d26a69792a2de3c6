// The steps that multiply by the model's matrices: how x becomes q and k, and what the head adds to the stream.
import { useSignal } from '@preact/signals';
import { applied, largest, outputOf, termsOf, type Term } from './arithmetic';
import { digits } from './format';
import { SumTable, Tick, Vector } from './step_parts';
import type { Head, Matrices, Matrix } from './types';

const absent = (
  <p class="quiet">This file holds the matrices of one layer only; headlight serve shows them for every head.</p>
);
// A model may store a matrix either way round; here rows make outputs.
const named = (terms: Term[]): Term[] => terms.map((t) => ({ ...t, a: t.b, b: t.a }));

interface FromXProps {
  matrices: Matrices | 'none' | null;
  matrix: 'q' | 'k';
  x: (m: Matrices) => ArrayLike<number>;
  expected: number[] | null; // the result; null: further steps follow
  token: string;
}
// One number of q or k, from what the layer read. Nothing is computed before somebody opens it.
export function FromX(props: FromXProps) {
  const opened = useSignal(false),
    { matrices, matrix, token } = props;
  if (!matrices || matrices === 'none') return null;
  if (matrices.info.latent)
    return (
      <p class="quiet" data-test="latent">
        {matrix} is made from x by way of a smaller, latent vector; the command for the terminal shows how.
      </p>
    );
  return (
    <details
      class="from-x for-engineer"
      onToggle={(event) => {
        opened.value = event.currentTarget.open;
      }}
    >
      <summary>
        from x of <bdi>{token}</bdi>: {matrix} = W<sub>{matrix}</sub> · x{matrices.info.has_bias ? ' + b' : ''}
      </summary>
      {opened.value && <Made {...props} matrices={matrices} />}
    </details>
  );
}

function Made({ matrices, matrix, x, expected }: FromXProps & { matrices: Matrices }) {
  const m: Matrix = matrices[matrix],
    from = x(matrices),
    made = applied(m, from).map((v, i) => v + m.bias[i]),
    at = largest(made);
  const gap = expected ? made.reduce((most, v, i) => Math.max(most, Math.abs(v - expected[i])), 0) : 0;
  return (
    <>
      <p>x, what the layer reads: {matrices.info.width} numbers</p>
      <Vector values={Array.from(from)} name="x" />
      <p>
        The largest number of {matrix}, {matrix}[{at}]:
      </p>
      <SumTable
        terms={named(termsOf(m, at, from))}
        names={['x', 'W']}
        total={`${matrix}[${at}]${expected ? '' : ' before its norm'}`}
        test={`from-${matrix}`}
        extra={matrices.info.has_bias ? { name: 'bias', value: m.bias[at] } : null}
      />
      {expected && (
        <Tick well={gap <= 1e-4 * Math.max(1, Math.abs(made[at]))}>
          all {made.length} equal the model’s, within {digits(gap, 2)}
        </Tick>
      )}
    </>
  );
}

// What the head adds to the stream, and how much of the layer's output that is.
export function Output({
  matrices,
  head,
  z,
  query,
}: {
  matrices: Matrices | 'none' | null;
  head: Head;
  z: number[];
  query: number;
}) {
  if (!matrices) return <p class="hint">Loading the matrix…</p>;
  if (matrices === 'none') return absent;
  const { heads, width, has_out_bias } = matrices.info;
  const o = outputOf(matrices, z, query),
    at = largest(o.share);
  return (
    <>
      <p>
        {heads > 2
          ? `z is concatenated with those of the other ${heads - 1} heads. `
          : heads > 1
            ? 'z is concatenated with that of the other head. '
            : ''}
        W<sub>O</sub> has {head.info.value_dim} columns for this one; with them it adds {width} numbers to the stream:
      </p>
      <Vector values={o.share} name="what the head adds" />
      <p>The largest of them, number {at}:</p>
      <SumTable terms={named(termsOf(matrices.out, at, z))} names={['z', 'W']} total={`output[${at}]`} test="output" />
      <p class="formula" data-test="output-share">
        ‖{digits(o.size)}‖ of ‖{digits(o.all)}‖: <b>{digits(o.along, 3)}</b> of the layer’s output along its direction
      </p>
      <p class="quiet">
        Shares of all heads{has_out_bias ? ' and the bias' : ''} sum to 1; {heads} equal ones would be{' '}
        {digits(1 / heads, 3)} each. A negative one works against the others.
      </p>
      <Tick well={o.difference <= 1e-4 * Math.max(1, ...o.share.map(Math.abs))}>
        {has_out_bias ? 'with the bias, ' : ''}equals what the model’s matrix returns for this head alone, within{' '}
        {digits(o.difference, 2)}
      </Tick>
    </>
  );
}
