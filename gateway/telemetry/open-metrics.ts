/** A registry in the OpenMetrics format, which has exemplars; prom-client would permanently rename the registry's counters. */
import {
  type MetricObject,
  type MetricObjectWithValues,
  type MetricValue,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client';

type Values = MetricObjectWithValues<MetricValue<string>>;
interface Source extends MetricObject {
  get(): Promise<Values>;
  getForPromString?(): Promise<Values>;
}

export async function renderOpenMetrics(register: Registry, labels: Record<string, string>): Promise<string> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  open.setDefaultLabels(labels);
  for (const source of register.getMetricsAsArray() as Source[]) {
    // By their full names, some of which differ only in the suffix.
    const { name } = source;
    const get = async () => {
      const item = await (source.getForPromString?.() ?? source.get());
      // A counter family's name lacks the suffix of its samples.
      return String(item.type) === 'counter' ? { ...item, name: dropSuffix(item.name) } : item;
    };
    open.registerMetric({ name, get } as never);
  }
  // Nothing may follow the final `# EOF`.
  return (await open.metrics()).trimEnd();
}

const dropSuffix = (name: string): string => name.replace(/_total$/, '');
