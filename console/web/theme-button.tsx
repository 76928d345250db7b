/** Switches between system, light and dark theme. */
import { Button, Tooltip, useMantineColorScheme } from '@mantine/core';
import { IconDeviceDesktop, IconMoonStars, IconSun } from '@tabler/icons-react';

const THEMES = [
  { scheme: 'auto', label: 'System theme', Icon: IconDeviceDesktop },
  { scheme: 'light', label: 'Light theme', Icon: IconSun },
  { scheme: 'dark', label: 'Dark theme', Icon: IconMoonStars },
] as const;

export function ThemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const index = THEMES.findIndex(({ scheme }) => scheme === colorScheme);
  const { label, Icon } = THEMES[index]!;
  const next = THEMES[(index + 1) % THEMES.length]!;
  return (
    <Tooltip label={label}>
      <Button
        size="xs"
        variant="subtle"
        aria-label={`${label}; switch to ${next.label.toLowerCase()}`}
        onClick={() => setColorScheme(next.scheme)}
      >
        <Icon size={16} aria-hidden />
      </Button>
    </Tooltip>
  );
}
