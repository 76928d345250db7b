/** The form of a playground whose question has one answer: its fields, the button, then the error or the answer. */
import { Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { AllowedButton, type Permission } from '../parts/allowed-button.tsx';
import { ErrorAlert } from '../parts/page-states.tsx';

interface QuestionFormProps {
  /** Its fields. */
  children: ReactNode;
  /** Label of the button. */
  label: string;
  question: { isPending: boolean; error: Error | null };
  onSubmit: () => void;
  permission: Permission;
  answer: ReactNode;
}

export function QuestionForm({ children, label, question, onSubmit, permission, answer }: QuestionFormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (permission.isAllowed) onSubmit();
  };
  return (
    <form onSubmit={submit}>
      <Stack align="flex-start">
        {children}
        <AllowedButton type="submit" loading={question.isPending} {...permission}>
          {label}
        </AllowedButton>
        {question.error && <ErrorAlert error={question.error} />}
        {answer}
      </Stack>
    </form>
  );
}
