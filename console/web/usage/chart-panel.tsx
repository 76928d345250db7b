/** A chart with a summary and an accessible table. */
import {
  Anchor,
  Box,
  Button,
  Collapse,
  ColorSwatch,
  Group,
  Paper,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useDisclosure, useId } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { formatCount } from './totals.ts';

export interface Series {
  name: string;
  label: string;
  color: string;
  strokeDasharray?: string;
}

export type Row = Record<string, unknown> & { at: string; time: string };

interface ChartPanelProps {
  title: string;
  summary: string;
  series: Series[];
  data: Row[];
  format?: (value: number) => string;
  /** Where the requests of a row's time are. */
  linkTo?: ((row: Row) => string | undefined) | undefined;
  /** The chart itself, hidden from screen readers and not focusable. */
  children: ReactNode;
}

export function ChartPanel({
  title,
  summary,
  series,
  data,
  format = formatCount,
  linkTo,
  children,
}: ChartPanelProps) {
  const [isOpen, { toggle }] = useDisclosure();
  const id = useId();
  const columns = ['Time', ...series.map(({ label }) => label)];
  // Without empty steps.
  const rows = data.filter((row) => series.some(({ name }) => Boolean(row[name]))).reverse();
  return (
    <Paper component="section" withBorder p="md" radius="md" aria-labelledby={`${id}-title`} miw={0}>
      <Stack gap="sm">
        <div>
          <Title order={2} size="h4" id={`${id}-title`}>
            {title}
          </Title>
          <Text size="sm" c="dimmed">
            {summary}
          </Text>
        </div>
        <Legend series={series} />
        <div aria-hidden>{children}</div>
        <Button
          variant="subtle"
          size="compact-sm"
          w="fit-content"
          aria-expanded={isOpen}
          aria-controls={`${id}-table`}
          aria-label={`${isOpen ? 'Hide table of' : 'Show as table:'} ${title}`}
          onClick={toggle}
        >
          {isOpen ? 'Hide table' : 'Show as table'}
        </Button>
        <Collapse expanded={isOpen} id={`${id}-table`}>
          {isOpen && (
            <Box mah={320} style={{ overflowY: 'auto' }}>
              <ScrollTable label={title} minWidth={320} columns={columns}>
                {rows.map((row) => (
                  <Table.Tr key={row.at}>
                    <Table.Td style={{ whiteSpace: 'nowrap' }}>
                      <TimeOf row={row} to={linkTo?.(row)} title={title} />
                    </Table.Td>
                    {series.map(({ name }) => (
                      <Table.Td key={name}>{row[name] === null ? '–' : format(Number(row[name]))}</Table.Td>
                    ))}
                  </Table.Tr>
                ))}
              </ScrollTable>
            </Box>
          )}
        </Collapse>
      </Stack>
    </Paper>
  );
}

/** The built-in legend has a fixed height and overlaps on narrow screens. */
function Legend({ series }: { series: Series[] }) {
  return (
    <Group gap="md" aria-hidden>
      {series.map(({ name, label, color }) => (
        <Group key={name} gap={6} wrap="nowrap">
          <ColorSwatch
            color={`var(--mantine-color-${color.replace('.', '-')})`}
            size={12}
            withShadow={false}
          />
          <Text size="sm">{label}</Text>
        </Group>
      ))}
    </Group>
  );
}

function TimeOf({ row, to, title }: { row: Row; to: string | undefined; title: string }) {
  if (!to) return row.time;
  return (
    <Anchor component={Link} to={to} inherit aria-label={`Requests at ${row.time}: ${title}`}>
      {row.time}
    </Anchor>
  );
}
