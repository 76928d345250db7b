/** The drawer in which a list shows one of its entries. */
import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLocation, useNavigate } from 'react-router';

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

/** Of the history's entries that opened a drawer over the page before. */
export const DRAWER_STATE = { isDrawer: true };

/** Closing goes back to the page beneath where the drawer was opened from it; else `leave` takes it off the address. */
export function useDrawerClose(leave: () => void): () => void {
  const navigate = useNavigate();
  const { state } = useLocation();
  const isAbovePage = (state as typeof DRAWER_STATE | null)?.isDrawer === true;
  return () => (isAbovePage ? void navigate(-1) : leave());
}
