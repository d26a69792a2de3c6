// The displayed panel on a narrow screen.
import { signal } from '@preact/signals';

export type Tab = 'heads' | 'pattern' | 'why' | 'next';
export const tab = signal<Tab>('pattern');
// The step of Why that an address names, until it is displayed.
export const wantedStep = signal('');
const tabs: string[] = ['heads', 'pattern', 'why', 'next'] satisfies Tab[];
export function lookAt(place: string | undefined): void {
  if (place && tabs.includes(place)) tab.value = place as Tab;
  else wantedStep.value = place ?? '';
}
