/** A combobox over a list that is always open (WAI-ARIA, "Editable Combobox With List Autocomplete"). */
import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { type Command, findCommands } from './commands.ts';

const LABEL = 'Go to a page, deployment, key or endpoint, or paste an ID';

interface CommandFieldProps {
  commands: readonly Command[];
  text: string;
  onType: (text: string) => void;
  /** More commands may come. */
  isPending: boolean;
  onChosen: (command: Command) => void;
}

export function CommandField({ commands, text, onType, isPending, onChosen }: CommandFieldProps) {
  const id = useId();
  /** Its path: what is chosen stays so when more commands come. */
  const [chosen, setChosen] = useState<string>();
  const found = findCommands(commands, text);
  const active = Math.max(
    0,
    found.findIndex(({ path }) => path === chosen),
  );
  const nameOption = (index: number) => `${id}-${index}`;
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, active]);

  const handleKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || found.length === 0) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step === undefined) onChosen(found[active]!);
    else setChosen(found[(active + step + found.length) % found.length]!.path);
  };

  return (
    <div className="palette">
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        placeholder={LABEL}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={text}
        onChange={(event) => {
          onType(event.currentTarget.value);
          setChosen(undefined);
        }}
        onKeyDown={handleKey}
        maxLength={100}
        autoComplete="off"
        spellCheck={false}
        role="combobox"
        aria-label={LABEL}
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? nameOption(active) : undefined}
      />
      {found.length === 0 && <p role="status">{isPending ? 'Searching…' : 'No results.'}</p>}
      <div id={id} role="listbox" aria-label="Results" hidden={found.length === 0}>
        {[...Map.groupBy(found, ({ group }) => group)].map(([group, members]) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a list
          <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
            <div id={`${id}-${group}`} role="presentation">
              {group}
            </div>
            {members.map((command) => {
              const index = found.indexOf(command);
              return (
                // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
                <div
                  key={command.path}
                  id={nameOption(index)}
                  role="option"
                  aria-selected={index === active}
                  onMouseMove={() => setChosen(command.path)}
                  // The field keeps the focus.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => onChosen(command)}
                >
                  {command.label}
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}
