// One weight as source text of other programs that recompute it.
import type { Steps } from './arithmetic';
import { keyReading } from './state';
import type { Head } from './types';

export function numpyText(s: Steps, head: Head, query: number, key: number): string {
  const list = (x: ArrayLike<number>) => '[' + Array.from(x).join(', ') + ']';
  const { dim, rows, columns } = head.info,
    at = { query, key };
  const kept = s.row.map((e) => e.key),
    k = kept.map((j) => list(head.k.subarray(j * dim, (j + 1) * dim)));
  const extra = s.row.map((e) => e.score - e.dot * head.info.scale);
  return (
    `# layer ${head.info.layer}, head ${head.info.head}, query ${at.query} of ${rows}, keys ${kept.join(' ')} of ${columns}\nimport numpy as np\nq = np.array(${list(s.q)})\nk = np.array([${k.join(',\n              ')}])\n` +
    `score = k @ q * ${head.info.scale}${extra.some((x) => Math.abs(x) > 1e-12) ? ` + np.array(${list(extra)})  # cap, slope and bias` : ''}\nweight = np.exp(score - score.max())\nweight /= weight.sum()${s.sinkExp > 0 ? ` + np.exp(${head.info.sink} - score.max())` : ''}\nprint(weight[${kept.indexOf(at.key)}])  # ${s.weight}\n`
  );
}
export const csvText = (s: Steps) =>
  'key,token,score,exp,weight\n' +
  s.row
    .map((e) => [e.key, JSON.stringify(keyReading.value.tokens[e.key].text), e.score, e.exp, e.weight].join(','))
    .join('\n') +
  '\n';

// The same as a C++ program: scores of the row from q and k, then the softmax.
export function cppText(s: Steps, head: Head, query: number, key: number): string {
  const list = (x: ArrayLike<number>) =>
    '{' + Array.from(x, (v) => (Number.isInteger(v) ? v.toFixed(1) : String(v))).join(', ') + '}';
  const { dim, scale, layer, head: number, sink } = head.info;
  const kept = s.row.map((e) => e.key);
  const extra = s.row.map((e) => e.score - e.dot * scale);
  const bends = extra.some((x) => Math.abs(x) > 1e-12);
  return `// layer ${layer}, head ${number}, query ${query}, keys ${kept.join(' ')}
#include <algorithm>
#include <cmath>
#include <cstdio>

const double q[${dim}] = ${list(s.q)};
const double k[${kept.length}][${dim}] = {${kept.map((j) => list(head.k.subarray(j * dim, (j + 1) * dim))).join(',\n    ')}};
${bends ? `const double extra[${kept.length}] = ${list(extra)};  // cap, slope and bias\n` : ''}
int main() {
  double score[${kept.length}] = {}, top = ${sink ?? '-INFINITY'}, sum = 0;
  for (int j = 0; j < ${kept.length}; ++j) {
    for (int d = 0; d < ${dim}; ++d) score[j] += q[d] * k[j][d];
    score[j] = score[j] * ${scale}${bends ? ' + extra[j]' : ''};
    top = std::max(top, score[j]);
  }
  for (const double x : score) sum += std::exp(x - top);
${s.sinkExp > 0 ? `  sum += std::exp(${sink} - top);\n` : ''}  std::printf("%.9g\\n", std::exp(score[${kept.indexOf(key)}] - top) / sum);  // ${s.weight}
}
`;
}
