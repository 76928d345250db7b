/** Drawers over a page, opened by links. */
import { useLocation, useNavigate } from 'react-router';

/** Of the history's entries that opened a drawer over the page before. */
export const DRAWER_STATE = { isDrawer: true };

/** Closing goes back to the page beneath where the drawer was opened from it; else `leave` takes it off the address. */
export function useDrawerClose(leave: () => void): () => void {
  const navigate = useNavigate();
  const { state } = useLocation();
  const isAbovePage = (state as typeof DRAWER_STATE | null)?.isDrawer === true;
  return () => (isAbovePage ? void navigate(-1) : leave());
}
