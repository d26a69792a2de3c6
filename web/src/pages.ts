// The displayed page: the viewer, the course or the playground. After the # of the address: learn=4, train, train=mask.
import { host } from './host';
import { signal } from '@preact/signals';

export type PageName = 'view' | 'learn' | 'train';
export const page = signal<PageName>('view');
export const chapter = signal(0); // chapter of the course; 0: the list
export const story = signal(''); // preset of the playground named in the address

const others = /^#?(?:token=[^&]*&)?(?:(learn)(?:=(\d{1,2}))?|(train)(?:=([a-z]{1,20}))?)$/;
export const isPageAddress = (hash: string): boolean => others.test(hash);
// False if the address is a view.
export function readPage(hash: string): boolean {
  const found = others.exec(hash);
  const name = ((found && (found[1] ?? found[3])) ?? 'view') as PageName;
  if (name !== page.value) scrollTo(0, 0); // another page starts at its top
  page.value = name;
  if (found?.[1]) chapter.value = Number(found[2] ?? 0);
  story.value = found?.[4] ?? '';
  return found !== null;
}
// The viewer writes its own address once it is visible.
export function showPage(name: PageName, number = chapter.value): void {
  page.value = name;
  chapter.value = number;
  if (name !== 'view') host.write(name === 'train' ? '#train' : `#learn=${number}`, true);
  scrollTo(0, 0);
}
