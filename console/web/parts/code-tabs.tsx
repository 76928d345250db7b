/** The same in several languages, to copy. */
import { Tabs } from '@mantine/core';
import { Copyable } from './copyable.tsx';

/** `texts`: by language. `what`: what they are, for the names of the buttons, such as "example". */
export function CodeTabs({ texts, what }: { texts: Record<string, string>; what: string }) {
  const languages = Object.keys(texts);
  return (
    <Tabs defaultValue={languages[0]!} keepMounted={false}>
      <Tabs.List aria-label="Language">
        {languages.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {languages.map((language) => (
        <Tabs.Panel key={language} value={language} pt="xs">
          <Copyable text={texts[language]!} label={`${language} ${what}`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
