/** The same call in each language. */
import { CodeTabs } from '../parts/code-tabs.tsx';
import { LANGUAGES, type Language } from './sdk-frames.ts';

export function CodeExamples({ write }: { write: (language: Language) => string }) {
  const texts = Object.fromEntries(LANGUAGES.map((language) => [language, write(language)]));
  return <CodeTabs texts={texts} what="example" />;
}
