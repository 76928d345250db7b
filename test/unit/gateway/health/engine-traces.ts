/**
 * What gateways see of engines in situations that are known from the engines' sources and from users' reports, written by hand;
 * `test/support/health-traces/recorded/` has those that real engines were recorded in. `trace-lines.ts` reads both.
 */
export interface EngineTrace {
  engine: string;
  situation: string;
  /** Seconds that work may wait without output; 600 by default. */
  stalled?: number;
  /** How many hanging works make an engine unhealthy; 3 by default. */
  works?: number;
  /** The gateway sends canary requests, whose results count. */
  needsProof?: boolean;
  lines: string;
}

export const ENGINE_TRACES: EngineTrace[] = [
  {
    engine: 'vLLM',
    situation: 'loads its model for minutes, then serves',
    lines: `
      0-180/1   refused          -> starting lost
      181       probe good       -> healthy ready alive
      186       probe good       -> healthy`,
  },
  {
    engine: 'SGLang',
    situation: 'listens while it loads: its health answers 503',
    lines: `
      0-5/1     refused          -> starting
      6-300/1   probe bad        -> starting
      301       probe good       -> healthy ready`,
  },
  {
    engine: 'vLLM',
    situation: 'is saturated: its health takes longer than a time-out, tokens flow',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      1         begin 2
      15        probe slow       -> busy ready alive
      16-600/1  output 1         -> busy ready alive
      26-600/11 probe slow       -> busy ready alive
      601       probe good       -> healthy`,
  },
  {
    // Begins like `recorded/vllm-saturated.json`, whose clients disconnected before the first token; here they stay.
    engine: 'vLLM',
    situation:
      'has more requests than places on a slow CPU: tokens of three after minutes, none of the others',
    lines: `
      0.017      probe good      -> healthy
      ${Array.from({ length: 24 }, (_, index) => `0.07       begin ${index + 1}`).join('\n')}
      0.3-0.8/0.02 answered
      5-300/5    probe good      -> healthy ready alive
      310        output 1        -> healthy ready alive
      311        output 2
      312        output 3
      355-850/45 output 1        -> busy ready alive
      320-850/11 probe slow      -> busy ready alive
      855-1500/5 probe good      -> healthy ready alive
      860-1500/100 output 2      -> healthy ready alive`,
  },
  {
    engine: 'SGLang',
    situation: 'prefills long prompts: no token for 40 s, its health slow or 503 in the meantime',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      1.5       answered
      2         begin 2
      13        probe slow       -> busy ready alive
      24        probe slow       -> busy ready alive
      35        probe slow       -> busy ready alive
      41        output 1         -> busy ready alive
      42        probe bad        -> busy ready alive
      43        probe bad        -> busy ready alive
      44        output 1
      50        output 2         -> busy ready
      52        probe good       -> healthy`,
  },
  {
    engine: 'TEI',
    situation: 'queues its health behind a batch of 20 s',
    lines: `
      0         probe good       -> healthy
      2         begin 1
      15        probe slow       -> busy ready alive
      22        end 1 good       -> busy ready
      23        probe good       -> healthy`,
  },
  {
    engine: 'llama.cpp',
    situation: 'processes a prompt on a slow CPU for 50 s and answers nothing else',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      11-44/11  probe slow       -> busy ready alive
      51        output 1         -> busy ready
      52        probe good       -> healthy`,
  },
  {
    engine: 'any',
    situation: 'is killed: connections are refused at once',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      3         end 1 fault
      3         refused          -> unhealthy lost
      4         refused          -> unhealthy lost alive
      70        refused          -> unhealthy lost dead
      75        probe bad        -> starting
      80        probe good       -> healthy ready alive`,
  },
  {
    engine: 'any',
    situation: 'is killed in the middle of a stream: a refused request is enough',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      2-20/0.1  output 1         -> healthy
      20.1      refused          -> unhealthy lost`,
  },
  {
    engine: 'vLLM',
    situation: 'has lost its EngineCore and says so: its health answers 503',
    lines: `
      0         probe good       -> healthy
      5         probe bad        -> busy ready
      6         probe bad        -> unhealthy alive
      50-70/1   probe bad        -> unhealthy
      71        probe bad        -> unhealthy dead`,
  },
  {
    engine: 'any',
    situation: 'is frozen (SIGSTOP): the kernel accepts connections, nobody answers',
    lines: `
      0         probe good       -> healthy
      15        probe slow       -> busy ready alive
      26-48/11  probe slow       -> busy ready alive
      61        probe slow       -> unhealthy dead kept
      71-290/11 probe slow       -> unhealthy dead kept
      301       probe slow       -> unhealthy dead lost
      320       refused          -> unhealthy lost
      325       probe good       -> healthy ready alive`,
  },
  {
    engine: 'vLLM',
    situation:
      'hangs with its health at 200: heads of streams come, tokens do not, clients give up after 120 s',
    lines: `
      0           probe good     -> healthy
      10          begin 1
      10          begin 2
      10          answered
      130         end 1 neutral
      130         end 2 neutral
      131         begin 3
      131         begin 4
      200         probe good     -> healthy ready alive
      251         end 3 neutral
      251         end 4 neutral
      252         begin 5
      372         end 5 neutral
      373         begin 6
      493         end 6 neutral
      494         begin 7
      560         probe good     -> healthy ready
      614         probe good     -> unhealthy dead kept
      900         probe good     -> unhealthy dead
      920         refused        -> unhealthy lost
      960         probe good     -> healthy ready alive`,
  },
  {
    engine: 'vLLM',
    situation: 'seemed to hang, and gives a token after all',
    stalled: 100,
    lines: `
      0         probe good       -> healthy
      1         begin 1
      1         begin 2
      1         begin 3
      102       probe good       -> unhealthy dead
      110       output 2         -> healthy ready alive`,
  },
  {
    engine: 'any',
    situation: 'works on two long answers in one piece: too few to accuse it',
    stalled: 100,
    lines: `
      0         probe good       -> healthy
      1         begin 1
      1         begin 2
      5-1800/5  probe good       -> healthy ready alive
      1801      end 1 good       -> healthy`,
  },
  {
    engine: 'any',
    situation: 'serves impatient clients who leave after 5 s: that tells nothing',
    stalled: 100,
    lines: `
      0         probe good       -> healthy
      1         begin 1
      5         begin 2
      6         end 1 neutral
      10        begin 3
      10.5      end 2 neutral
      15        begin 4
      15.5      end 3 neutral
      40        probe good       -> healthy
      44        end 4 neutral
      44        begin 5
      49        end 5 neutral
      49        begin 6
      54        end 6 neutral
      54        begin 7
      59        end 7 neutral
      59        begin 8
      160       probe good       -> healthy ready alive`,
  },
  {
    engine: 'any',
    situation: 'waits for clients who do not read their streams',
    stalled: 100,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      1          begin 2
      1          begin 3
      2          output 1
      3-2000/1   held 1
      3-2000/1   held 2
      3-2000/1   held 3
      2000       probe good      -> healthy ready alive`,
  },
  {
    engine: 'vLLM',
    situation: 'has lost its GPU: each request fails, its health is 200',
    lines: `
      0         probe good       -> healthy
      1         begin 1
      2         end 1 good       -> healthy
      10        begin 2
      11        end 2 fault      -> healthy ready
      30        begin 3
      31        end 3 fault      -> healthy ready
      50        begin 4
      51        end 4 fault
      60        begin 5
      61        end 5 fault      -> healthy ready
      70        begin 6
      72        end 6 fault      -> unhealthy dead kept
      90        probe good       -> unhealthy dead
      103       probe good       -> busy ready dead
      104       begin 7
      105       end 7 fault      -> busy ready dead
      106       begin 8
      107       end 8 fault
      108       begin 9
      109       end 9 fault      -> unhealthy dead
      140       probe good       -> busy ready dead
      141       begin 10
      142       end 10 good      -> healthy ready alive`,
  },
  {
    engine: 'any',
    situation: 'fails one tenant’s hundred bad requests, and serves another’s',
    lines: `
      0          probe good      -> healthy
      1          begin 1
      2          end 1 fault
      3          begin 2
      4          end 2 fault
      30         begin 3
      31         end 3 good      -> healthy
      32         begin 4
      33         end 4 fault
      50         begin 5
      51         end 5 fault
      80         begin 6
      81         end 6 fault
      85         begin 7
      86         end 7 good
      100        begin 8
      101        end 8 fault     -> healthy ready alive`,
  },
  {
    engine: 'any',
    situation: 'fails 19 of 20 requests, and a trial: neither a rare success nor an old stream acquits it',
    needsProof: true,
    lines: `
      0          probe good      -> healthy
      0.5        begin 3
      1-75/1     begin 1
      1.1-75/1   end 1 fault
      5-75/20    begin 2
      5.1-75/20  end 2 good
      2.3-200/3  output 3
      59         probe good      -> healthy ready alive trusted
      66         probe good      -> healthy ready alive doubted
      67         tried fault     -> unhealthy dead kept trusted
      75.9       probe good      -> unhealthy dead kept
      98         probe good      -> busy ready dead doubted
      99         tried fault     -> unhealthy dead
      130        probe good      -> busy ready doubted
      131        tried good      -> healthy ready alive trusted`,
  },
  {
    engine: 'any',
    situation: 'answers 500 to 19 of 20 requests that are wrong, and does what the gateway asks',
    needsProof: true,
    lines: `
      0          probe good      -> healthy
      1-300/1    begin 1
      1.1-300/1  end 1 fault
      5-300/20   begin 2
      5.1-300/20 end 2 good
      66         probe good      -> healthy ready alive doubted
      67         tried good      -> healthy ready alive trusted
      120        probe good      -> healthy ready alive trusted
      140        probe good      -> healthy ready alive doubted
      141        tried unknown   -> healthy ready alive trusted`,
  },
  {
    engine: 'any',
    situation: 'fails 19 of 20 requests where the gateway can try nothing: one success clears it',
    lines: `
      0          probe good      -> healthy
      1-300/1    begin 1
      1.1-300/1  end 1 fault
      5-300/20   begin 2
      5.1-300/20 end 2 good
      299        probe good      -> healthy ready alive trusted`,
  },
  {
    engine: 'SGLang Diffusion',
    situation: 'has lost its worker: two jobs without progress, each to its deadline, its health at 200',
    stalled: 3600,
    works: 2,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      1801       end 1 neutral   -> healthy
      1802       begin 2
      3590       probe good      -> healthy ready
      3603       probe good      -> unhealthy dead`,
  },
  {
    engine: 'vLLM-Omni',
    situation: 'makes films of 25 minutes without a word of progress',
    stalled: 3600,
    works: 2,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      1501       end 1 good      -> healthy
      1502       begin 2
      3002       end 2 good
      3003       begin 3
      4400       probe good      -> healthy ready alive`,
  },
  {
    engine: 'SGLang Diffusion',
    situation: 'has lost its worker: a job goes on for ever after it was given up, and the next one hangs',
    stalled: 3600,
    works: 2,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      1801       probe good      -> healthy ready alive
      2401       end 1 stuck     -> unhealthy dead
      2700       probe good      -> unhealthy dead
      2710       refused         -> unhealthy lost
      2800       probe good      -> healthy ready alive`,
  },
  {
    engine: 'vLLM-Omni',
    situation: 'is stuck at one job and ends others',
    stalled: 3600,
    works: 2,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      2300       begin 2
      2390       end 2 good      -> healthy
      2401       end 1 stuck     -> healthy ready alive`,
  },
  {
    engine: 'SGLang Diffusion',
    situation: 'ends what it seemed stuck at',
    stalled: 3600,
    works: 2,
    lines: `
      0          probe good      -> healthy
      1          begin 1
      2401       end 1 stuck     -> unhealthy dead
      2402       begin 2
      2500       end 2 good      -> healthy ready alive`,
  },
  {
    engine: 'simulator',
    situation: 'is starved by the rest of its node: probes take 2 to 9 s, an occasional one is cut off',
    lines: `
      0         probe good       -> healthy
      7         probe good       -> healthy
      21        probe good       -> healthy
      30        probe bad        -> busy ready alive
      34        probe good       -> healthy
      49        probe slow       -> busy ready alive
      55        probe good       -> healthy ready alive`,
  },
];
