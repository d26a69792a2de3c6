// On a narrow screen, which panel is seen.
import { signal } from '@preact/signals';

export type Tab = 'heads' | 'pattern' | 'why' | 'next';
export const tab = signal<Tab>('pattern');
// A step of Why that an address leads to, until it is there.
export const wantedStep = signal('');
const tabs: string[] = ['heads', 'pattern', 'why', 'next'] satisfies Tab[];
export function lookAt(place: string | undefined): void {
  if (place && tabs.includes(place)) tab.value = place as Tab;
  else wantedStep.value = place ?? '';
}
