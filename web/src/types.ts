// What the program sends (docs/guide/viewer.md).
export interface Token {
  id: number;
  text: string;
  begin: number;
  end: number;
  added: boolean;
  whole?: string; // the character that it is a part of
}
export interface Word {
  text: string;
  begin: number;
  end: number;
}
export interface Reading {
  text: string;
  second: number; // the first token of the second text; 0: there is one
  tokens: Token[];
  words: Word[];
}
export type PartName = 'encoder' | 'decoder' | 'cross';
export interface PartInfo {
  part: PartName;
  layers: number;
  heads: number;
  kv_heads: number;
  rows: number;
  columns: number;
}
export interface ModelInfo {
  name: string;
  argument?: string; // what --model takes for it
  kind?: 'decoder' | 'encoder' | 'encoder_decoder';
  family?: string;
  layers?: number;
  heads?: number;
  width?: number;
  vocabulary?: number;
  reads?: boolean;
  context?: number; // tokens that it reads at most; 0: no known limit
}
export interface RunInfo {
  id: string;
  model: ModelInfo;
  text: string;
  second: string;
  target: string;
  more: number[];
  temperature: number;
  top_k: number;
  seed: number;
  source: Reading;
  written: Reading | null;
  decoder_input: Reading | null;
  parts: PartInfo[];
  looks?: FirstLook[]; // what to show first of each part
  usual_part: PartName;
  predictions: number;
  change?: { base: string; body: object }; // it is another run with heads changed
}
export interface FirstLook {
  part: PartName;
  layer: number;
  head: number;
  lift: number;
  query: [number, number]; // tokens [begin, end)
  key: [number, number];
  far: boolean; // else only neighbours are seen
}
// One token of a continuation, as it comes.
export interface WrittenToken {
  id: string; // of the run with this token
  more: number[];
  source: Reading;
  p: number;
  row: Float32Array; // its attention: [layers, heads, tokens]
}
export interface RunRequest {
  model: string;
  text: string;
  second?: string;
  target?: string;
  more?: number[];
  temperature?: number;
  top_k?: number;
  seed?: number;
}
export interface Start {
  version: string;
  sentence: string;
  models: ModelInfo[];
  most_tokens?: number;
  corpus?: number; // texts that were given at the start
}
export interface Guess {
  id: number;
  text: string;
  p: number;
  logit: number;
}
export interface Prediction {
  position: number;
  tops: Guess[];
  actual: Guess | null;
  rank: number;
}

// Heads or links that are changed.
export type ChangeName = 'zero' | 'mean' | 'scale' | 'cut-mask' | 'cut-weight';
export interface Plan {
  part: PartName;
  change: ChangeName;
  heads: { layer: number; head: number }[];
  factor: number; // of scale
  links: number[][]; // of cuts: queries [begin, end), keys [begin, end)
}
export interface TokenEffect {
  id: number;
  text: string;
  before: number;
  after: number;
  logit_before: number;
  logit_after: number;
  rank_before: number;
  rank_after: number;
}
export interface Effect {
  id: string; // of the run with the change
  position: number;
  kl: number[]; // of each position, nats
  mean_kl: number;
  mean_sentences: number;
  loss: [number, number] | null;
  tokens: TokenEffect[];
}

export interface Rope {
  first: number; // of the numbers that turn
  dims: number;
  interleaved: boolean;
  factor: number;
  angles: number[];
}
export interface HeadInfo {
  part: PartName;
  layer: number;
  head: number;
  kv_head: number;
  group: number;
  rows: number;
  columns: number;
  dim: number;
  value_dim: number;
  scale: number;
  softcap: number;
  slope: number | null;
  sink: number | null;
  has_bias: boolean;
  head_norm: boolean;
  offset: number;
  rope: Rope | null;
}
// One head's numbers. Weights are NaN where the query cannot see the key.
export interface Head {
  info: HeadInfo;
  first: number; // row of the first weights: of a long text there is one row
  weights: Float32Array;
  q: Float32Array;
  k: Float32Array;
  v: Float32Array;
  z: Float32Array;
  lse: Float32Array;
  bias: Float32Array | null;
}
export interface Matrix {
  columns: number;
  weights: Float32Array;
  bias: Float32Array;
}
// The parameters around one head, and what they made of this run.
export interface Matrices {
  info: {
    width: number;
    heads: number;
    has_bias: boolean;
    has_out_bias: boolean;
    has_memory: boolean;
    latent: boolean;
  };
  out: Matrix; // [width, value_dim]
  own: Float32Array; // what the layer returns with this head alone, and with all, [rows, width]
  all: Float32Array;
  q: Matrix; // [dim, width]
  k: Matrix;
  x: Float32Array; // what queries are made of, [rows, width]
  memory: Float32Array; // what keys are made of, [columns, width]
}
// Small maps of all heads: exact when `exact`, else rounded to 8 bits and pooled.
export interface Atlas {
  rows: number;
  columns: number;
  exact: boolean;
  values: Float32Array;
  later?: boolean; // small maps follow
}

// What the map shows of a head.
export type Mode = 'weights' | 'scores' | 'values';
// A part of a map of two texts: from the first to the second is AB.
export type Block = 'AA' | 'AB' | 'BA' | 'BB';
// What is computed from several heads.
export type Derived = 'none' | 'mean' | 'rollout';
export type Depth = 'learner' | 'engineer' | 'researcher';
export type Scale = 'linear' | 'sqrt' | 'log';
export type Theme = 'light' | 'dark';
export type Palette = 'cividis' | 'viridis' | 'magma' | 'grey';
// Keys that are greyed: sinks, and what the tokenizer put there.
export type Mute = 'none' | 'first' | 'special';
// How the atlas is sorted. Names of heads (3.5 is an induction head) get their place here.
export type Order = 'layer' | 'link' | 'focus' | 'first' | 'effect' | 'label';
