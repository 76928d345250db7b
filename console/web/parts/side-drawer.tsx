/** The drawer in which a list shows one of its entries. */
import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';

interface SideDrawerProps {
  title: string;
  onClose: () => void;
  /** null: closed. */
  children: ReactNode | null;
}

export function SideDrawer({ title, onClose, children }: SideDrawerProps) {
  return (
    <Drawer
      opened={children !== null}
      onClose={onClose}
      position="right"
      size="lg"
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Drawer>
  );
}
