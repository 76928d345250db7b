--- @include "budget", "clock", "credit", "numbers", "queue", "register", "request-end", "request-record", "stored-objects"
-- A client's calls: `submit`, `replay`, `cancel`.

-- Accepts a request: record, place in the queue, debit; or returns why not. Safe to repeat with the same id.
-- KEYS: the record. ARGV: namespace, id, deployment, modality, API key (24 digits of its hash), digest of the
-- idempotency key or '', price in millionths, slots, expected milliseconds of a job before any was measured,
-- parameters, stored inputs as a JSON list or '', fingerprint of the fields to compare when the idempotency key is sent again, a
-- sealed prompt or '', then more fields of the record as pairs; `budgets`: those that bound the key, of which the record
-- keeps the counters.
local IDEMPOTENCY_SECONDS = DAY_SECONDS

-- Seconds until a request with `ahead` before it will have ended.
local function estimate(namespace, deployment, ahead, capacity)
  local average = read_pace(namespace, deployment)
  local slots = math.max(1, tonumber(capacity.slots))
  return math.max(1, math.ceil((ahead / slots + 1) * (average or tonumber(capacity.job_ms)) / SECOND_MS))
end

local function answer_known(verdict, request, capacity)
  local seconds = 0
  if request.status == 'queued' or request.status == 'running' then
    local queued = index_key(request.namespace, request.deployment, 'queued')
    seconds = estimate(request.namespace, request.deployment, redis.call('ZRANK', queued, request.id) or 0, capacity)
  end
  return { verdict, request.id, request.status, seconds }
end

-- One of the fields of the record that are given as pairs.
local function find_field(args, name)
  for i = SIGNATURES.submit.fixed + 1, #args - 1, SIGNATURES.submit.each do
    if args[i] == name then
      return args[i + 1]
    end
  end
end

-- Links a repeat in the record of what it repeats, if that still exists.
local function note_retry(namespace, id, args)
  local earlier = find_field(args, 'retry_of')
  local key = earlier and #earlier == ID_LENGTH and request_key(namespace, earlier)
  if key and redis.call('EXISTS', key) == 1 then
    redis.call('HSET', key, 'retried_as', id)
  end
end

-- The API key's priority, as it is now.
local function read_priority(args)
  return bound_priority(math.floor(tonumber(find_field(args, 'priority') or 0) or 0))
end

-- The request for which an API key waits for its turn, or nil. Workspaces' users may not call ZSCORE.
local function waiting_priority(turns, api_key, micros)
  local score = redis.call('ZADD', turns, 'XX', 'INCR', 0, api_key)
  return score and priority_of(score, micros)
end

-- Nothing is accepted that could not be kept.
register('submit', function(keys, args, namespace, id, deployment, modality, api_key, digest, price, slots, job_ms, params,
  inputs, fingerprint, prompt)
  local capacity = { slots = slots, job_ms = job_ms }
  if redis.call('EXISTS', keys[1]) == 1 then
    local known = load_request(namespace, id)
    if not known then
      return redis.error_reply('ERR The record of this id is not one')
    end
    return answer_known('accepted', known, capacity)
  end
  if not is_amount(price) then
    return redis.error_reply('ERR The price must be a whole number')
  end
  local objects = inputs == '' and {} or decode_objects(inputs)
  if not objects then
    return redis.error_reply('ERR The inputs are no list of stored objects')
  end
  local marker = digest ~= '' and idempotency_key(namespace, digest)
  local first = marker and redis.call('GETRANGE', marker, 0, MAX_MARKER_BYTES - 1)
  local original = first and first ~= '' and load_request(namespace, string.sub(first, 1, ID_LENGTH))
  if original then
    local known = answer_known('duplicate', original, capacity)
    known[5] = string.sub(first, ID_LENGTH + 2)
    return known
  end

  local most, keep_ms, _, registration_id = read_limits(namespace, deployment)
  if not most then
    return { 'gone', '', '', 0 }
  end
  local granted, refusal = unpack(redis.call('HMGET', config_workspace_key(namespace), 'creditMicros', 'asyncRefusal'))
  if refusal then
    return { 'refused', refusal, '', 0 }
  end
  local queue = queue_key(namespace, deployment, api_key)
  local waiting = index_key(namespace, deployment, 'queued')
  local total, own = redis.call('ZCARD', waiting), redis.call('ZCARD', queue)
  most = tonumber(most)
  -- While others wait, one API key holds at most half of the queue.
  if total >= most or (own > 0 and own < total and own >= math.floor(most / 2)) then
    return { 'queue_full', '', '', 0 }
  end
  if not afford(namespace, price, granted) then
    return { 'credit', '', '', 0 }
  end
  local micros = now_micros()
  local budgets = load_budgets(namespace, find_field(args, 'budgets') or '', math.floor(micros / 1000))
  local exhausted = find_exhausted(budgets, tonumber(price))
  if exhausted then
    return { 'budget', exhausted, '', 0 }
  end

  local order = digits(micros)
  redis.call('HSET', keys[1], 'status', 'queued', 'deployment', deployment, 'modality', modality,
    'api_key', api_key, 'order', order, 'queued_at', string.sub(order, 1, -4), 'price', price,
    'keep_ms', keep_ms, 'registration_id', registration_id,
    unpack(args, SIGNATURES.submit.fixed + 1))
  note_retry(namespace, id, args)
  redis.call('SET', params_key(namespace, id), params)
  if prompt ~= '' then
    redis.call('SET', prompt_key(namespace, id), prompt)
  end
  redis.call('ZADD', waiting, order, id)
  redis.call('ZADD', index_key(namespace, deployment, 'all'), order, id)
  redis.call('ZADD', queue, order, id)
  if marker then
    redis.call('SET', marker, id .. ' ' .. fingerprint, 'EX', IDEMPOTENCY_SECONDS)
  end
  if price ~= '0' then
    add_number(credit_key(namespace), price)
  end
  if #budgets > 0 then
    local counters = price == '0' and '' or spend_budgets(namespace, budgets, price, math.floor(micros / 1000))
    redis.call('HSET', keys[1], 'budgets', counters)
  end
  if inputs ~= '' then
    -- From now on the record owns them.
    redis.call('HSET', keys[1], 'inputs', inputs)
    for _, object in ipairs(objects) do
      redis.call('ZREM', cleanup_key(namespace), object)
    end
  end
  local turns, priority = turns_key(namespace, deployment), read_priority(args)
  -- A key that waits keeps its place.
  if own == 0 or waiting_priority(turns, api_key, micros) ~= priority then
    redis.call('ZADD', turns, score_turn(micros, priority), api_key)
  end
  if total == 0 then
    redis.call('ZADD', deployments_key(namespace), 'NX', 0, deployment)
    -- A waiting worker has seen an empty queue, so only the first needs an announcement.
    announce_jobs(namespace, deployment)
  end
  return { 'accepted', id, 'queued', estimate(namespace, deployment, total, capacity) }
end)

-- Records that a request was asked for again by its idempotency key. KEYS: the record. ARGV: namespace, id, names of the
-- fields that differed, with commas between, or ''.
register('replay', function(_, namespace, id, differing)
  local request = load_request(namespace, id)
  if not request then
    return 0
  end
  redis.call('HINCRBY', request.key, 'replays', 1)
  redis.call('HSET', request.key, 'replayed_at', digits(now_ms()))
  if differing ~= '' then
    redis.call('HSET', request.key, 'replay_differs', differing)
  end
  return 1
end)

-- Cancels a request that is still queued. KEYS: the record. ARGV: namespace, id, the caller's token.
-- Returns `canceled`, also to a repeat with the same token, `unknown` or `not_cancellable`; then what is shown of it.
register('cancel', function(_, namespace, id, token)
  local request = load_request(namespace, id)
  if not request then
    return { 'unknown' }
  end
  local verdict = 'not_cancellable'
  if request.status == 'queued' then
    leave_queue(request)
    end_request(request, now_ms(), { status = 'canceled', by = token })
    verdict = 'canceled'
  elseif request.status == 'canceled' and request.ended_by == token then
    verdict = 'canceled'
  end
  return { verdict, show_request(namespace, id) }
end)
