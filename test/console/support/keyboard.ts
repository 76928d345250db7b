/** A page that is used by the keyboard alone. */
import type { Locator, Page } from 'playwright-core';
import { pollUntil } from '../../support/poll.ts';

/** More tab stops than any page has. */
const MAX_STEPS = 150;

export interface KeyboardUser {
  /** Moves to a field, button or link by Tab; fails if Tab does not lead to it. */
  reach(target: Locator): Promise<void>;
  /** Moves to a button or link once it is enabled, and presses Enter. */
  press(target: Locator): Promise<void>;
  /** Replaces the text of the field. */
  fill(field: Locator, text: string): Promise<void>;
  choose(combobox: Locator, option: string | RegExp): Promise<void>;
  openTab(name: string): Promise<void>;
}

export function useKeyboard(page: Page): KeyboardUser {
  const { keyboard } = page;
  const isAt = async (target: Locator) => (await target.and(page.locator(':focus')).count()) > 0;
  const move = async (target: Locator, key: string, hasArrived = isAt) => {
    await target.first().waitFor();
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      if (await hasArrived(target)) return;
      await keyboard.press(key);
    }
    throw new Error(`${key} does not lead to ${target}`);
  };
  const reach = (target: Locator) => move(target, 'Tab');
  return {
    reach,
    press: async (target) => {
      const isUsable = async () => (await target.first().getAttribute('aria-disabled')) !== 'true';
      await pollUntil(isUsable, `${target} to be usable`);
      await reach(target);
      await keyboard.press('Enter');
    },
    fill: async (field, text) => {
      await reach(field);
      await keyboard.press('ControlOrMeta+A');
      await keyboard.type(text);
    },
    choose: async (combobox, name) => {
      await reach(combobox);
      await keyboard.press('ArrowDown');
      const option = page.getByRole('option', { name });
      await move(
        option,
        'ArrowDown',
        async () => (await option.and(page.locator('[data-combobox-selected]')).count()) > 0,
      );
      await keyboard.press('Enter');
    },
    openTab: async (name) => {
      const tabs = page.getByRole('tablist', { name: 'About this deployment' });
      await reach(tabs.getByRole('tab', { selected: true }));
      await move(tabs.getByRole('tab', { name, exact: true }), 'ArrowRight');
    },
  };
}
