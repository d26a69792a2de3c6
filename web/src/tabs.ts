// On a narrow screen, which panel is seen.
import { signal } from '@preact/signals';

export type Tab = 'heads' | 'pattern' | 'why' | 'next';
export const tab = signal<Tab>('pattern');
