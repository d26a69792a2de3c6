// Which page is seen: the viewer, the course or the playground. Behind the # of the address: learn=4, train.
import { host } from './host';
import { signal } from '@preact/signals';

export type PageName = 'view' | 'learn' | 'train';
export const page = signal<PageName>('view');
export const chapter = signal(0); // of the course; 0: the list

// False: the address is a view.
export function readPage(hash: string): boolean {
  const found = /^#?(?:token=[^&]*&)?(learn|train)(?:=(\d{1,2}))?$/.exec(hash);
  page.value = found ? (found[1] as PageName) : 'view';
  if (found) chapter.value = Number(found[2] ?? 0);
  return found !== null;
}
const address = () => (page.value === 'view' ? '' : page.value === 'train' ? '#train' : `#learn=${chapter.value}`);
export function showPage(name: PageName, number = chapter.value): void {
  page.value = name;
  chapter.value = number;
  host.write(address(), true);
  scrollTo(0, 0);
}
