// The course: chapters from the program, predictions to reveal, exercises that are checked, slides for a class.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { render } from 'preact';
import { host } from './host';
import { chapter, showPage } from './pages';
import { ask } from './source';
import { offline, report } from './state';

interface Head {
  number: number;
  title: string;
  question: string;
}
interface Exercise {
  form: string;
  numbers: number[];
  decimals: number;
  word: string;
  choices: string[];
  hint: string;
  mistakes: { numbers: number[]; why: string }[];
}
interface Chapter extends Head {
  html: string;
  picture: string;
  exercises: Exercise[];
  slider?: { words: string[]; scores: number[] };
}
const list = signal<Head[]>([]),
  shown = signal<Chapter | null>(null),
  slides = signal(false),
  slide = signal(0);
let saved: Chapter[] | null = null; // a saved file contains the whole course
export function useCourse(chapters: Chapter[]): void {
  saved = chapters;
  list.value = chapters;
  void load(chapter.value);
}

async function load(number: number): Promise<void> {
  if (!saved && host.data) return; // a file that is still loading
  try {
    if (!saved && list.value.length === 0) list.value = (await (await ask('learn')).json()).chapters;
    if (number === 0) shown.value = null;
    else shown.value = saved ? saved[number - 1] : ((await (await ask(`learn/${number}`)).json()) as Chapter);
    slide.value = 0;
  } catch (error) {
    report(error);
  }
}

// Like check_answer() of the program: numbers may be off by 1.5 units of the last decimal.
const close = (a: number[], b: number[], decimals: number) =>
  a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) <= (decimals ? 1.5 * 10 ** -decimals * (1 + 1e-9) : 0));
export function judge(exercise: Exercise, given: string): { right: boolean; says: string } {
  const pieces = given.split(/[\s,;()[\]]+/).filter((piece) => piece !== '');
  const other = { right: false, says: `Expected form: ${exercise.form}.` };
  if (exercise.numbers.length === 0) {
    const word = exercise.choices.find((choice) => choice.toLowerCase() === pieces[0]?.toLowerCase());
    if (pieces.length !== 1 || !word) return other;
    return word === exercise.word
      ? { right: true, says: 'Right.' }
      : { right: false, says: `Not yet. ${exercise.hint}` };
  }
  const numbers = pieces.map((piece) => Number(piece.replace('−', '-')));
  if (numbers.length !== exercise.numbers.length || numbers.some((x) => !Number.isFinite(x))) return other;
  if (close(numbers, exercise.numbers, exercise.decimals)) return { right: true, says: 'Right.' };
  const slip = exercise.mistakes.find((m) => close(numbers, m.numbers, exercise.decimals));
  return { right: false, says: `Not yet. ${slip?.why ?? exercise.hint}` };
}

function Check({ exercise, number }: { exercise: Exercise; number: string }) {
  const verdict = signal<{ right: boolean; says: string } | null>(null);
  const Says = () => (
    <p role="status" class={verdict.value?.right ? 'well' : ''} data-test="verdict">
      {verdict.value?.says}
    </p>
  );
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.querySelector('input')!;
        verdict.value = judge(exercise, field.value);
      }}
    >
      <input
        aria-label={`Answer to exercise ${number}: ${exercise.form}`}
        placeholder={exercise.form}
        autocomplete="off"
      />
      <button type="submit">Check</button>
      <Says />
    </form>
  );
}

// The reader writes an answer before it is revealed.
function Prediction({ reveal }: { reveal: HTMLDetailsElement }) {
  const said = signal('');
  const Said = () => (
    <p role="status" data-test="said">
      {said.value && `You said: ${said.value}`}
    </p>
  );
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        said.value = event.currentTarget.querySelector('input')!.value.trim();
        reveal.hidden = false;
        reveal.open = true;
      }}
    >
      <input aria-label="Your prediction" placeholder="your prediction" autocomplete="off" />
      <button type="submit">Reveal</button>
      <Said />
    </form>
  );
}

// Weights of the chapter's scores at a temperature that the reader chooses, from 0.05 to 20.
function Temperature({ words, scores }: { words: string[]; scores: number[] }) {
  const power = signal(0);
  const Bars = () => {
    const t = 10 ** power.value,
      top = Math.max(...scores),
      e = scores.map((s) => Math.exp((s - top) / t)),
      sum = e.reduce((a, b) => a + b);
    return (
      <>
        <output data-test="temperature">temperature {t.toFixed(2)}</output>
        {words.map((word, i) => (
          <p key={word}>
            <span>{word}</span>
            <span class="bar" aria-hidden="true">
              <span style={{ width: `${(100 * e[i]) / sum}%` }} />
            </span>
            <span data-test="slider-weight">{(e[i] / sum).toFixed(4)}</span>
          </p>
        ))}
      </>
    );
  };
  return (
    <div class="temperature">
      <label>
        Change the temperature
        <input
          type="range"
          min={-1.3}
          max={1.3}
          step={0.05}
          value={0}
          data-test="temperature-slider"
          onInput={(event) => {
            power.value = event.currentTarget.valueAsNumber;
          }}
        />
      </label>
      <Bars />
    </div>
  );
}

// The HTML from the program, with the picture and the answer fields inserted.
function Text({ text }: { text: Chapter }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    element.innerHTML = text.html;
    const figure = element.querySelector<HTMLElement>('[data-picture]');
    let address = '';
    if (figure) {
      address = URL.createObjectURL(new Blob([text.picture], { type: 'image/svg+xml' }));
      const image = new Image();
      image.src = address;
      image.alt = figure.getAttribute('aria-label') ?? '';
      figure.removeAttribute('aria-label');
      if (/^<svg[^>]* width="160mm"/.test(text.picture)) image.className = 'pair'; // two maps side by side
      figure.tabIndex = 0; // on a phone they are scrolled
      figure.append(image);
      if (text.slider) {
        const place = document.createElement('div');
        figure.after(place);
        render(<Temperature {...text.slider} />, place);
      }
    }
    for (const section of element.querySelectorAll<HTMLElement>('[data-exercise]')) {
      const number = section.dataset.exercise!,
        exercise = text.exercises[Number(number) - 1],
        place = document.createElement('div');
      if (!exercise) continue;
      section.insertBefore(place, section.querySelector('details'));
      render(<Check exercise={exercise} number={number} />, place);
    }
    for (const reveal of element.querySelectorAll<HTMLDetailsElement>(':scope > details')) {
      const both = document.createElement('div'),
        place = document.createElement('div');
      reveal.before(both);
      both.append(place, reveal);
      reveal.hidden = true;
      render(<Prediction reveal={reveal} />, place);
    }
    if (offline.value)
      for (const link of element.querySelectorAll('[data-view], [data-train]')) link.parentElement?.remove();
    return () => URL.revokeObjectURL(address);
  }, [text]);
  // Slides: a heading with its section.
  useEffect(() => {
    const parts: Element[][] = [[]];
    for (const child of box.current!.children) {
      if (child.tagName === 'H3' && parts.at(-1)!.length > 0) parts.push([]);
      parts.at(-1)!.push(child);
    }
    slide.value = Math.max(0, Math.min(slide.value, parts.length - 1));
    parts.forEach((part, i) => {
      for (const child of part) (child as HTMLElement).hidden = slides.value && i !== slide.value;
    });
    // The largest type, down to 16 pixels, with which the slide fits the window.
    const { style } = box.current!.closest('article')!;
    style.fontSize = '';
    for (let size = 34; slides.value && size >= 16; --size) {
      style.fontSize = `${size}px`;
      if (document.documentElement.scrollHeight <= innerHeight) break;
    }
  }, [text, slides.value, slide.value]);
  return <div ref={box} class="chapter-text" />;
}

function onKey(event: KeyboardEvent): void {
  if (!slides.value || (event.target as HTMLElement).closest('input, select, textarea')) return;
  const forward = ['ArrowRight', 'PageDown', ' '].includes(event.key),
    back = ['ArrowLeft', 'PageUp'].includes(event.key);
  if (event.key === 'Escape') slides.value = false;
  else if (forward || back) {
    const before = slide.value;
    slide.value += forward ? 1 : -1;
    // Clamps a number that is too large or too small, then changes the chapter.
    requestAnimationFrame(() => {
      const next = chapter.value + (forward ? 1 : -1);
      if (slide.value === before && next >= 1 && next <= list.value.length) showPage('learn', next);
    });
  } else return;
  event.preventDefault();
}

export function Learn() {
  useEffect(() => void load(chapter.value), [chapter.value]);
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const text = shown.value;
  const go = (number: number, name: string) =>
    number >= 1 &&
    number <= list.value.length && (
      <a
        href={`#learn=${number}`}
        onClick={(event) => {
          event.preventDefault();
          showPage('learn', number);
        }}
      >
        {name}
      </a>
    );
  return (
    <main class={`learn${slides.value ? ' slides' : ''}`} data-test="learn">
      {text ? (
        <article class="card" aria-labelledby="chapter-title">
          <header>
            <h2 id="chapter-title">
              {text.number}. {text.title}
            </h2>
            <button
              type="button"
              aria-pressed={slides.value}
              data-test="slides"
              title="Large type, one section at a time; arrow keys, Esc"
              onClick={() => {
                slides.value = !slides.value;
              }}
            >
              Slides
            </button>
          </header>
          <p class="says">{text.question}</p>
          <Text text={text} key={text.number} />
          <nav aria-label="Chapters">
            {go(text.number - 1, '‹ Before')}
            <a
              href="#learn=0"
              onClick={(event) => {
                event.preventDefault();
                showPage('learn', 0);
              }}
            >
              All chapters
            </a>
            {go(text.number + 1, 'Next ›')}
          </nav>
        </article>
      ) : (
        <article class="card">
          <h2>Attention in sixteen chapters</h2>
          <ol>
            {list.value.map((head) => (
              <li key={head.number}>
                {go(head.number, head.title)} <span class="quiet">{head.question}</span>
              </li>
            ))}
          </ol>
        </article>
      )}
    </main>
  );
}
