/** Goes to a page, an object or an action by a few letters of its name, or to what a pasted ID names. */
import '../theme/later-styles.ts';
import { Modal } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { routes } from '../../routes.ts';
import { useNamespace, useRead } from '../client/namespace.ts';
import { useAccess } from '../client/session.ts';
import { CommandField } from './command-field.tsx';
import type { Command } from './commands.ts';
import { useIdCommand } from './id-command.ts';

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
  const [text, setText] = useState('');
  const commands = useCommands(pages);
  const named = useIdCommand(text);
  const go = ({ path }: Command) => {
    onChosen();
    void navigate(`/${namespace}/${path}`);
  };
  return (
    <Modal.Root opened onClose={onClose} returnFocus={false} size="lg" yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label="Go to">
        <Modal.Body p={0}>
          <CommandField
            commands={named.command ? [named.command, ...commands] : commands}
            text={text}
            onType={setText}
            isPending={named.isPending}
            onChosen={go}
          />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function useCommands(pages: PaletteProps['pages']): Command[] {
  const { manageDeployments, manageKeys } = useAccess();
  // None where the user may not list them.
  const { data: deployments = [] } = useRead(routes.listDeployments);
  const { data: keys = [] } = useRead(routes.listKeys);
  const { data: endpoints = [] } = useRead(routes.listWebhooks);
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
    ...keys.map(
      ({ name }): Command => ({
        group: 'API keys',
        label: name,
        path: `keys?filter=${encodeURIComponent(name)}`,
      }),
    ),
    ...endpoints.map(
      ({ name }): Command => ({
        group: 'Webhook endpoints',
        label: name,
        path: `webhooks?filter=${encodeURIComponent(name)}`,
      }),
    ),
  ];
}

const NEW_DEPLOYMENT: Command = { group: 'Actions', label: 'New deployment', path: 'deploy' };
const NEW_KEY: Command = { group: 'Actions', label: 'New API key', path: 'keys?new' };
