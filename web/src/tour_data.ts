// The example of the tour: the sentence of `headlight explain`, six words of three numbers.
export const toyWords = ['Your', 'journey', 'starts', 'with', 'one', 'step'];
export const toyVectors = [
  [0.43, 0.15, 0.89],
  [0.55, 0.87, 0.66],
  [0.57, 0.85, 0.64],
  [0.22, 0.58, 0.33],
  [0.77, 0.25, 0.1],
  [0.05, 0.8, 0.55],
];
