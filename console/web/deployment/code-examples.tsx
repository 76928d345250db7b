/** The same call in each language, to copy. */
import { Tabs } from '@mantine/core';
import { Copyable } from '../parts/copyable.tsx';
import { LANGUAGES, type Language } from './sdk-frames.ts';

export function CodeExamples({ write }: { write: (language: Language) => string }) {
  return (
    <Tabs defaultValue={LANGUAGES[0]} keepMounted={false}>
      <Tabs.List aria-label="Language">
        {LANGUAGES.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {LANGUAGES.map((language) => (
        <Tabs.Panel key={language} value={language} pt="xs">
          <Copyable text={write(language)} label={`${language} example`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
