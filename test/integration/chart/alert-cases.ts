/** For each alert: series with which it fires once, and resolves. */

/** Step of alerts over days. */
export const LONG_STEP = 10;

export interface AlertCase {
  /** Between two samples; 1 or LONG_STEP. */
  minutes?: number;
  /** By series, in promtool's notation. */
  series: Record<string, string>;
  /** Minutes at which it does not fire yet, fires, and is resolved. */
  before: number;
  firing: number;
  after: number;
}

const CHAT = 'namespace="team", deployment="chat"';
const SLO = {
  'berth_slo_target_ratio{namespace="team", deployment="chat", objective="availability"}': '0.99x9000',
};
const requests = (outcome: 'good' | 'bad') =>
  `berth_slo_requests_total{${CHAT}, pod="chat-1", objective="availability", outcome="${outcome}"}`;
const condition = (name: string, reason: string) =>
  `berth_operator_failing_conditions{kind="ModelDeployment", namespace="team", name="chat", condition="${name}", reason="${reason}"}`;
/** A condition that lasts for an hour. */
const anHour = '_x10 1x60 stale';

export const ALERT_CASES: Record<string, AlertCase> = {
  // An hour with 30 % errors; the objective allows 1 %.
  BerthErrorBudgetBurnsFast: {
    series: {
      ...SLO,
      [requests('good')]: '0+100x60 6000+70x60 10200+100x400',
      [requests('bad')]: '0x60 0+30x60 1800x400',
    },
    before: 60,
    firing: 115,
    after: 500,
  },
  // Days with 2 % errors; the objective allows 1 %.
  BerthErrorBudgetBurnsSlowly: {
    minutes: LONG_STEP,
    series: {
      ...SLO,
      [requests('good')]: '0+1000x6 6000+980x440 437200+1000x400',
      [requests('bad')]: '0x6 0+20x440 8800x400',
    },
    before: 60,
    firing: 4400,
    after: 5000,
  },
  BerthEngineDown: {
    series: { [`berth_gateway_engines{${CHAT}, pod="chat-1", phase="unhealthy"}`]: '0x10 1x20 0x20' },
    before: 12,
    firing: 20,
    after: 40,
  },
  BerthEngineHangs: {
    series: {
      [`berth_gateway_engines{${CHAT}, pod="chat-1", phase="healthy"}`]: '1x60',
      [`berth_engine_up{${CHAT}, pod="chat-1"}`]: '1x10 0x30 1x20',
    },
    before: 15,
    firing: 30,
    after: 50,
  },
  BerthRolloutStuck: {
    series: { [condition('Progressing', 'ProgressDeadlineExceeded')]: anHour },
    before: 12,
    firing: 30,
    after: 80,
  },
  BerthGPUsShort: {
    series: {
      [condition('GPUsAvailable', 'GPUsShort')]: anHour,
      [condition('GPUsAvailable', 'WaitingForDrain')]: '1x90',
    },
    before: 20,
    firing: 40,
    after: 80,
  },
  BerthNotReady: {
    series: { [condition('Ready', 'EngineUnhealthy')]: anHour },
    before: 30,
    firing: 60,
    after: 80,
  },
  BerthCreditGone: {
    series: {
      'berth_operator_credit{namespace="team", state="granted"}': '10x60',
      'berth_operator_credit{namespace="team", state="remaining"}': '5-1x5 0x20 3x30',
    },
    before: 4,
    firing: 20,
    after: 40,
  },
  BerthQueueOld: {
    series: { [`berth_queue_oldest_seconds{${CHAT}, pod="front-1"}`]: '0+60x50 0x30' },
    before: 30,
    firing: 45,
    after: 70,
  },
  BerthQueueRefused: {
    series: {
      'berth_operator_queue_refused{pod="a"}': '0x10 1x10 0x20',
      'berth_operator_queue_refused{pod="b"}': '0x40',
    },
    before: 9,
    firing: 18,
    after: 30,
  },
  BerthWebhooksFailing: {
    series: {
      'berth_gateway_webhook_attempts_total{outcome="failed", pod="front-1"}': '0x10 0+5x40 200x40',
      'berth_gateway_webhook_attempts_total{outcome="delivered", pod="front-1"}': '0+1x10 10x40 10+5x40',
    },
    before: 12,
    firing: 45,
    after: 75,
  },
  // Queued jobs and synchronous images are counted together.
  BerthStorageFailing: {
    series: {
      [`berth_gateway_jobs_total{${CHAT}, pod="chat-1", outcome="storage_upload_failed"}`]: '0x10 0+1x1 1x70',
      [`gen_ai_server_request_duration_seconds_count{${CHAT}, pod="chat-1", error_type="storage_upload_failed"}`]:
        '0x10 0+1x30 30x40',
      [`gen_ai_server_request_duration_seconds_count{${CHAT}, pod="chat-1"}`]: '0+1x80',
      [`berth_gateway_jobs_total{${CHAT}, pod="chat-1", outcome="succeeded"}`]: '0+1x80',
    },
    before: 11,
    firing: 35,
    after: 70,
  },
  BerthRedisAlmostFull: {
    series: {
      'berth_operator_redis_memory_bytes{state="used"}': '50x10 90x30 50x30',
      'berth_operator_redis_memory_bytes{state="max"}': '100x70',
    },
    before: 15,
    firing: 35,
    after: 50,
  },
  // Only the leader's connection counts.
  BerthRedisUnavailable: {
    series: {
      'berth_operator_redis_up{instance="a"}': '1x10 0x20 1x20',
      'berth_operator_leader{instance="a"}': '1x50',
      'berth_operator_redis_up{instance="b"}': '1x50',
      'berth_operator_leader{instance="b"}': '0x50',
    },
    before: 12,
    firing: 25,
    after: 40,
  },
  BerthUsageLost: {
    series: { 'berth_gateway_settlements_lost_total{pod="chat-1"}': '0x10 1x60' },
    before: 9,
    firing: 15,
    after: 40,
  },
  BerthOperatorDown: {
    series: {
      'berth_operator_leader{instance="a"}': '1x10 _x20 1x20',
      'berth_operator_leader{instance="b"}': '0x50',
    },
    before: 9,
    firing: 28,
    after: 45,
  },
  BerthReconcilesFailing: {
    series: { 'berth_operator_queue_failing{controller="models", instance="a"}': '0x10 2x50 0x20' },
    before: 30,
    firing: 55,
    after: 70,
  },
  BerthSidecarRolloutStopped: {
    series: { 'berth_operator_sidecar_rollout_stopped{instance="a"}': '0x10 1x10 0x20' },
    before: 9,
    firing: 18,
    after: 30,
  },
};
