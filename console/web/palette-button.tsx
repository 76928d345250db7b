/** Opens the palette, also by Ctrl+K or ⌘K; its code is loaded then. */
import { Button, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useRef, useState } from 'react';

const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }));

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.platform);
const LABEL = `Go to… ${IS_APPLE ? '⌘K' : 'Ctrl K'}`;

interface PaletteButtonProps {
  pages: readonly { path: string; label: string }[];
}

export function PaletteButton({ pages }: PaletteButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<Element>(null);
  const open = () => {
    opener.current = document.activeElement;
    setOpen(true);
  };
  const close = (focused: Element | null) => {
    setOpen(false);
    if (focused instanceof HTMLElement) focused.focus();
  };
  useHotkeys(
    [
      [
        'mod+K',
        () => {
          // Another dialog may have a form, or a secret that is shown once.
          if (!document.querySelector('[aria-modal=true]')) open();
        },
      ],
    ],
    [],
  );
  return (
    <>
      <Button
        size="xs"
        variant="default"
        px="xs"
        onClick={open}
        aria-label={LABEL}
        aria-haspopup="dialog"
        aria-keyshortcuts={IS_APPLE ? 'Meta+K' : 'Control+K'}
        leftSection={<IconSearch size={14} aria-hidden />}
        styles={{ section: { marginInlineEnd: 0 } }}
      >
        <Text span inherit visibleFrom="sm" ms="xs">
          {LABEL}
        </Text>
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <Palette
            onClose={() => close(opener.current)}
            onChosen={() => close(document.getElementById('main'))}
            pages={pages}
          />
        </Suspense>
      )}
    </>
  );
}
