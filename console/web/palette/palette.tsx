/** Goes to a page, a deployment or an action by a few letters of its name. */
import '../look/later-styles.ts';
import { Modal } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import type { DeploymentView } from '../../api.ts';
import { call } from '../client/call.ts';
import { useAccess, useBase, useNamespace } from '../client/session.ts';
import { CommandField } from './command-field.tsx';
import type { Command } from './commands.ts';

interface PaletteProps {
  onClose: () => void;
  /** Instead of `onClose`. */
  onChosen: () => void;
  pages: readonly { path: string; label: string }[];
}

/** Open as long as it is there. */
export function Palette({ onClose, onChosen, pages }: PaletteProps) {
  const namespace = useNamespace();
  const navigate = useNavigate();
  const commands = useCommands(pages);
  const go = ({ path }: Command) => {
    onChosen();
    void navigate(`/${namespace}/${path}`);
  };
  return (
    <Modal.Root opened onClose={onClose} returnFocus={false} size="lg" yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label="Go to">
        <Modal.Body p={0}>
          <CommandField commands={commands} onChosen={go} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function useCommands(pages: PaletteProps['pages']): Command[] {
  const base = useBase();
  const { manageDeployments, manageKeys } = useAccess();
  const { data: deployments = [] } = useQuery({
    queryKey: [base, 'deployments'],
    queryFn: ({ signal }) => call<DeploymentView[]>('GET', `${base}/deployments`, undefined, signal),
  });
  return [
    ...pages.map(({ path, label }): Command => ({ group: 'Pages', label, path })),
    ...(manageDeployments ? [NEW_DEPLOYMENT] : []),
    ...(manageKeys ? [NEW_KEY] : []),
    ...deployments.map(
      ({ name }): Command => ({
        group: 'Deployments',
        label: name,
        path: `deployments/${encodeURIComponent(name)}`,
      }),
    ),
  ];
}

const NEW_DEPLOYMENT: Command = { group: 'Actions', label: 'New deployment', path: 'deploy' };
const NEW_KEY: Command = { group: 'Actions', label: 'New API key', path: 'keys?new' };
