/** A registry in the OpenMetrics format, which has exemplars; prom-client would rename the counters of a registry for good. */
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
    // By their own names, some of which only the suffix tells apart.
    const { name } = source;
    const get = async () => {
      const item = await (source.getForPromString?.() ?? source.get());
      // The name of a counter's family is without the suffix of its samples.
      return String(item.type) === 'counter' ? { ...item, name: dropSuffix(item.name) } : item;
    };
    open.registerMetric({ name, get } as never);
  }
  // Nothing may follow the last line's word of the end.
  return (await open.metrics()).trimEnd();
}

const dropSuffix = (name: string): string => name.replace(/_total$/, '');
