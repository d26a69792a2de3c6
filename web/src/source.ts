// Where numbers come from: the program that serves the page, or the data inside a saved file.
import { host } from './host';
import { readable, readableRun } from './tokens';
import type {
  Atlas,
  Effect,
  Head,
  HeadInfo,
  Matrices,
  Prediction,
  PartInfo,
  PartName,
  RunInfo,
  RunRequest,
  Start,
  WrittenToken,
} from './types';

export class Trouble extends Error {
  // `again`: asking once more may help.
  constructor(
    message: string,
    public code: string,
    public again: boolean,
  ) {
    super(message);
  }
}

export interface Sampling {
  temperature: number;
  top_k: number;
  seed: number;
}
export interface Source {
  readonly offline: boolean;
  readonly at: string; // the view to open with
  readonly removes: boolean; // knows what the model predicts without a head
  start(): Promise<Start>;
  run(request: RunRequest, signal?: AbortSignal): Promise<RunInfo>;
  next(run: RunInfo, sampling: Sampling): Promise<RunInfo>;
  // Token by token, while they are computed; `count` at most.
  write(run: RunInfo, request: Sampling & { count: number }, signal: AbortSignal): AsyncGenerator<WrittenToken>;
  bytes(run: RunInfo, path: string): Promise<ArrayBuffer>;
  prediction(run: RunInfo, position: number): Promise<Prediction>;
  post(run: RunInfo, path: string, body: object, signal?: AbortSignal): Promise<unknown>;
  get(run: RunInfo, path: string, signal?: AbortSignal): Promise<unknown>;
  corpus(body: object, signal?: AbortSignal): Promise<unknown>;
}

const base = '/api/v1/';

let entering: Promise<unknown> | null = null; // the token is on its way to a cookie; nobody else asks before
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  if (path !== 'enter' && entering) await entering; // else the request leaves before anything is drawn
  for (let attempt = 0; ; ++attempt) {
    let answer: Response;
    try {
      answer = await fetch(base + path, { credentials: 'same-origin', ...init });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new Trouble('The server does not answer. Is headlight serve still running?', 'network', true);
    }
    if (answer.ok) return answer;
    if (answer.status === 503 && attempt < 8) {
      await new Promise((done) => setTimeout(done, 400 * (attempt + 1)));
      continue;
    }
    let message = `The server answered ${answer.status}.`,
      code = `http.${answer.status}`;
    try {
      const body = await answer.json();
      message = String(body.error.message);
      code = String(body.error.code);
    } catch {
      /* not our JSON: the number has to do */
    }
    if (answer.status === 401)
      throw new Trouble(
        'The server does not accept this page: headlight serve was restarted, or the page was opened without its link. ' +
          'Please open the link that headlight serve printed; this page then continues by itself.',
        'token',
        true,
      );
    throw new Trouble(message, code, answer.status >= 500 || answer.status === 404);
  }
}

export function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return ask(path, {
    method: 'POST',
    body: JSON.stringify(body),
    signal,
    headers: { 'Content-Type': 'application/json' },
  });
}

// An answer of one JSON value a line, as its lines arrive.
async function* linesOf(answer: Response) {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop()!;
      for (const line of lines) yield JSON.parse(line);
    }
  } finally {
    reader.cancel().catch(() => {}); // who stops early wants no more
  }
}
function floatsOf(base64: string): Float32Array {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

class Served implements Source {
  readonly offline = false;
  readonly removes = true;
  constructor(readonly at: string) {}
  async start() {
    return (await (await ask('models')).json()) as Start;
  }
  async run(request: RunRequest, signal?: AbortSignal) {
    return readableRun((await (await post('run', request, signal)).json()) as RunInfo);
  }
  async next(run: RunInfo, sampling: object) {
    return readableRun((await (await this.again(run, () => post(`run/${run.id}/next`, sampling))).json()) as RunInfo);
  }
  async *write(run: RunInfo, request: object, signal: AbortSignal) {
    const answer = await this.again(run, () => post(`run/${run.id}/write`, request, signal));
    for await (const line of linesOf(answer)) {
      if (line.error) throw new Trouble(line.error.message, line.error.code, false);
      if (line.end) return;
      yield { ...line, source: readable(line.source), row: floatsOf(line.row) };
    }
  }
  async bytes(run: RunInfo, path: string) {
    return (await this.again(run, () => ask(`run/${run.id}/${path}`))).arrayBuffer();
  }
  async prediction(run: RunInfo, position: number) {
    const answer = await this.again(run, () => ask(`run/${run.id}/next?position=${position}`));
    return (await answer.json()) as Prediction;
  }
  async post(run: RunInfo, path: string, body: object, signal?: AbortSignal) {
    return (await this.again(run, () => post(`run/${run.id}/${path}`, body, signal))).json();
  }
  async get(run: RunInfo, path: string, signal?: AbortSignal) {
    return (await this.again(run, () => ask(`run/${run.id}/${path}`, { signal }))).json();
  }
  async corpus(body: object, signal?: AbortSignal) {
    return (await post('corpus', body, signal)).json();
  }
  // A server that was started again, or has had other things to keep, no longer knows the run; the same request makes
  // it again.
  private async again(run: RunInfo, request: () => Promise<Response>): Promise<Response> {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Trouble) || error.code !== 'run.unknown') throw error;
    }
    const { text, second, target, more, temperature, top_k, seed } = run;
    await post('run', {
      model: run.model.name,
      text,
      ...(second ? { second } : {}),
      ...(target ? { target } : {}),
      ...(more.length > 0 ? { more } : {}),
      ...(temperature > 0 ? { temperature, top_k, seed } : {}),
    });
    if (run.change) await post(`run/${run.change.base}/change`, run.change.body);
    return request();
  }
}

interface Saved extends Start {
  at: string;
  run: RunInfo;
  pieces: Record<string, [number, number]>;
}

class Stored implements Source {
  readonly offline = true;
  readonly at: string;
  constructor(
    private saved: Saved,
    private data: ArrayBuffer,
    private first: number,
  ) {
    this.at = saved.at;
  }
  async start() {
    return this.saved;
  }
  async run(): Promise<RunInfo> {
    return readableRun(this.saved.run);
  }
  async next(): Promise<RunInfo> {
    throw new Trouble('A saved page cannot compute new results; use headlight serve for that.', 'offline', false);
  }
  async *write(): AsyncGenerator<WrittenToken> {
    await this.next();
  }
  private piece(path: string): ArrayBuffer {
    const place = this.saved.pieces[path];
    if (!place)
      throw new Trouble(
        'A saved file of a long text holds one layer only; headlight serve shows the others.',
        'offline',
        false,
      );
    return this.data.slice(this.first + place[0], this.first + place[0] + place[1]);
  }
  async bytes(_run: RunInfo, path: string) {
    return this.piece(path);
  }
  // What a saved page has computed beforehand: the model without one of its heads, at one position.
  get removes() {
    return Object.keys(this.saved.pieces).some((name) => name.startsWith('change/'));
  }
  private without(part: string, [layer, head]: number[]): Effect {
    return JSON.parse(new TextDecoder().decode(this.piece(`change/${part}/${layer}.${head}`))) as Effect;
  }
  async post(_run: RunInfo, path: string, body: object): Promise<unknown> {
    const { part, change, heads } = body as { part: string; change: string; heads: number[][] };
    if (path === 'change' && change === 'zero' && heads.length === 1) return this.without(part, heads[0]);
    if (path !== 'sweep') return this.next();
    const found = heads.map((at) => this.without(part, at)),
      { position } = found[0],
      top = (e: Effect) => e.tokens[0]; // the likeliest before
    return {
      position,
      token: top(found[0]),
      p: top(found[0]).before,
      heads: found.map((e, i) => ({
        layer: heads[i][0],
        head: heads[i][1],
        kl: e.kl[position],
        log_p: Math.log(top(e).after / top(e).before),
      })),
    };
  }
  async get(): Promise<unknown> {
    return this.next();
  }
  async corpus(): Promise<unknown> {
    return this.next();
  }
  async prediction(_run: RunInfo, position: number) {
    return JSON.parse(new TextDecoder().decode(this.piece(`next/${position}`))) as Prediction;
  }
}

// A file with the course and no run.
export class Course extends Stored {
  constructor(readonly course: Saved) {
    super(course, new ArrayBuffer(0), 0);
  }
}

// The token goes from the link to a cookie before anything else, and out of the address bar.
async function enter(): Promise<string> {
  const fields = host.hash().slice(1).split('&');
  const token = fields.find((field) => field.startsWith('token='));
  const rest = fields.filter((field) => !field.startsWith('token=')).join('&');
  if (token) {
    host.write('#' + rest, false);
    entering = ask('enter', {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json', 'X-Headlight-Token': token.slice(6) },
    });
    await entering.finally(() => (entering = null));
  }
  return rest;
}

export async function openSource(): Promise<Source> {
  const text = host.data;
  if (!text) return new Served(await enter());
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const data = await new Response(stream).arrayBuffer();
  const length = new DataView(data).getUint32(0, true);
  const saved = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Saved;
  if ('chapters' in saved) return new Course(saved);
  return new Stored(saved, data, 4 + length);
}

export async function readHead(
  source: Source,
  run: RunInfo,
  part: PartName,
  layer: number,
  head: number,
  query?: number, // weights of this row alone
): Promise<Head> {
  const data = await source.bytes(run, `${part}/${layer}/${head}.bin${query === undefined ? '' : `?query=${query}`}`);
  const length = new DataView(data).getUint32(0, true);
  const info = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as HeadInfo;
  let at = 4 + length;
  const take = (count: number) => {
    const list = new Float32Array(data, at, count);
    at += 4 * count;
    return list;
  };
  const { rows, columns, dim, value_dim } = info,
    kept = query === undefined ? rows : 1;
  return {
    info,
    first: query ?? 0,
    weights: take(kept * columns),
    q: take(rows * dim),
    k: take(columns * dim),
    v: take(columns * value_dim),
    z: take(rows * value_dim),
    lse: take(rows),
    bias: info.has_bias ? take(kept * columns) : null,
  };
}

export async function readMatrices(source: Source, run: RunInfo, name: PartName, head: Head): Promise<Matrices> {
  const data = await source.bytes(run, `${name}/${head.info.layer}/${head.info.head}.matrices`);
  const length = new DataView(data).getUint32(0, true);
  const info = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as Matrices['info'];
  let at = 4 + length;
  const take = (count: number) => {
    const list = new Float32Array(data, at, count);
    at += 4 * count;
    return list;
  };
  const matrix = (rows: number, columns: number) => ({ columns, weights: take(rows * columns), bias: take(rows) });
  const { rows, columns, dim, value_dim } = head.info,
    { width } = info;
  const out = matrix(width, value_dim),
    own = take(rows * width),
    all = take(rows * width);
  const made = info.latent ? 0 : dim,
    q = matrix(made, width),
    k = matrix(made, width),
    x = take(rows * width);
  return { info, out, own, all, q, k, x, memory: info.has_memory ? take(columns * width) : x };
}

// Of one layer, or of all.
export async function readAtlas(source: Source, run: RunInfo, info: PartInfo, layer?: number): Promise<Atlas> {
  const of = layer === undefined ? '' : `?layer=${layer}`,
    data = new Uint8Array(await source.bytes(run, `${info.part}/atlas.u8${of}`));
  const view = new DataView(data.buffer);
  const rows = view.getUint32(0, true),
    columns = view.getUint32(4, true);
  const values = new Float32Array(data.length - 8);
  for (let i = 0; i < values.length; ++i) {
    const byte = data[i + 8];
    values[i] = byte === 0 ? NaN : ((byte - 1) / 254) ** 2;
  }
  return { rows, columns, exact: false, values };
}
