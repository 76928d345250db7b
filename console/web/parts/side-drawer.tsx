/** The drawer with details of a list entry. */
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

/** State of history entries that opened a drawer over the page. */
export const DRAWER_STATE = { isDrawer: true };

/** Closing goes back in history if the drawer was opened from the page; else `leave` removes it from the URL. */
export function useDrawerClose(leave: () => void): () => void {
  const navigate = useNavigate();
  const { state } = useLocation();
  const isAbovePage = (state as typeof DRAWER_STATE | null)?.isDrawer === true;
  return () => (isAbovePage ? void navigate(-1) : leave());
}
