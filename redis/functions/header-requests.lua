-- Shared by the functions on requests: keys, configuration, records and queues.
-- The keys are listed in api/redis-keys.ts, the states in docs/requests.md.
local MAX_SHOWN_BYTES = 65536
-- Redis' memory for a record; more was made by a tenant, too.
local MAX_RECORD_BYTES = 64 * 1024
-- The least that Redis takes for a field: a hash of more than fit is too long whatever is in them, so no more need be
-- sampled; fewer samples would let long fields hide behind short ones.
local MIN_FIELD_BYTES = 16
local MAX_ID_BYTES = 64
-- Stored objects of one request: more than a form has files, and longer names than a bucket has, are a tenant's own making.
local MAX_OBJECTS = 64
local MAX_OBJECT_BYTES = 2048
local MAX_OBJECTS_BYTES = 32 * 1024
-- Limit of what functions read of a record, mostly names and numbers (decision 0301).
local MAX_FIELD_BYTES = 253
local LONGER_FIELDS = { inputs = MAX_OBJECTS_BYTES, webhook_url = 8192 }
local REQUEST_FIELDS = {
  'status', 'deployment', 'modality', 'api_key', 'order', 'queued_at', 'registration_id', 'price', 'keep_ms', 'inputs',
  'webhook_url', 'claim', 'deadline', 'attempts', 'ended_by', 'claimed_at', 'started_at',
}
local MAX_LEASE_MS = 10 * MINUTE_MS
-- Members of a set, each of which a tenant may have made as long as Redis accepts.
local READ_AT_ONCE = 20
-- In the order of redis/requests/request-record.ts.
local SHOWN_FIELDS = {
  'status', 'deployment', 'registration_id', 'modality', 'model', 'size', 'seconds', 'progress', 'queued_at', 'started_at',
  'completed_at', 'error_code',
  -- In the order of redis/requests/request-charge.ts.
  'api_key', 'price', 'key_name', 'images',
  -- The request that it repeats, and the one that repeats it.
  'retry_of', 'retried_as',
  -- How often and when it was asked for again by its idempotency key, and the fields that last differed.
  'replays', 'replayed_at', 'replay_differs',
}
-- The result precedes those of the charge.
local RESULT_AT = 13
-- Longer than the call of a refunded charge may still be in flight.
local CHARGE_SECONDS = 1200
-- An image may take as long as a timer can wait.
local MAX_CHARGE_SECONDS = 25 * DAY_SECONDS

local function work_key(namespace, kind, rest)
  return 'w:{' .. namespace .. '}:' .. kind .. (rest or '')
end

-- Sorted by age; `status` may be `all`.
local function index_key(namespace, deployment, status)
  return 'w:{' .. namespace .. '}:by:' .. deployment .. ':' .. status
end

-- Waiting requests of one API key, sorted by age.
local function queue_key(namespace, deployment, api_key)
  return 'w:{' .. namespace .. '}:queue:' .. deployment .. ':' .. api_key
end

-- Unix microseconds by Redis' clock: the order of requests and of turns.
local function now_micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- A whole number as text, for writers: a number would be formatted at every call, at greater cost.
local function digits(number)
  return string.format('%d', number)
end

-- The turns of API keys are sorted by when each had its last one, two years sooner for every step of its priority: higher
-- ones come first, and those of one priority take turns. Turns are assumed to be less than a year old, and doubles represent this exactly.
local MAX_PRIORITY = 100
local PRIORITY_MICROS = 730 * DAY_SECONDS * 1000000

local function bound_priority(priority)
  return math.min(MAX_PRIORITY, math.max(-MAX_PRIORITY, priority))
end

local function score_turn(micros, priority)
  return digits(micros - priority * PRIORITY_MICROS)
end

-- Reads any score, which a tenant may have written.
local function priority_of(score, micros)
  return bound_priority(math.floor((micros - tonumber(score)) / PRIORITY_MICROS + 0.5))
end

-- Settings for submissions and claims: the maximum that may wait, milliseconds that a record is kept, milliseconds of a job, and
-- the registration id, all as text; nil if nothing new is accepted or started.
local function read_limits(namespace, deployment)
  local limits = redis.call('HGET', 'c:{' .. namespace .. '}:limits', deployment)
  if limits then
    return string.match(limits, '^(%d+) (%d+) (%d+) (%d+)$')
  end
end

local function workspace_key(namespace)
  return 'c:{' .. namespace .. '}:workspace'
end

-- Whether a price fits into the remaining credit; nil or false = unlimited.
local function afford(namespace, price, granted)
  if not granted then
    return true
  end
  local spent = read_number(work_key(namespace, 'credit'))
  return spent < tonumber(granted) and spent + tonumber(price) <= tonumber(granted)
end

-- An empty token belongs to nobody: it must not equal a caller's.
local function token_of(value)
  return value and value ~= '' and value or nil
end

-- Whether a value is short enough for a function to read; true if there is none.
local function is_short(key, most)
  return (redis.call('MEMORY', 'USAGE', key, 'SAMPLES', math.ceil(most / MIN_FIELD_BYTES)) or 0) <= most
end

-- The average milliseconds of a deployment's jobs, or nil.
local function read_pace(namespace, deployment)
  local average = parse_number(redis.call('HGET', work_key(namespace, 'pace:', deployment), 'average_ms') or '')
  return average > 0 and average or nil
end

-- The last members of a set that satisfy a condition, read in small steps. `range`: where to start, and whether with the
-- first members.
local function read_last(key, limit, is_wanted, range)
  local members = {}
  local start = range and range.start or 0
  local last = start + limit - 1
  for first = start, last, READ_AT_ONCE do
    local command = { 'ZRANGE', key, first, math.min(first + READ_AT_ONCE - 1, last) }
    if not (range and range.is_ascending) then
      command[5] = 'REV'
    end
    local read = redis.call(unpack(command))
    for _, member in ipairs(read) do
      if is_wanted(member) then
        members[#members + 1] = member
      end
    end
    if #read < READ_AT_ONCE then
      break
    end
  end
  return members
end

-- The members of a JSON list that is short enough; none of any other text.
local function decode_list(text)
  local is_json, list = pcall(cjson.decode, #text <= MAX_OBJECTS_BYTES and text or '')
  return is_json and type(list) == 'table' and #list <= MAX_OBJECTS and list or {}
end

local function is_object(value)
  return type(value) == 'string' and #value <= MAX_OBJECT_BYTES
end

-- The stored objects of a JSON list, or nil if it is not ours.
local function decode_objects(text)
  local objects = decode_list(text)
  for _, object in ipairs(objects) do
    if not is_object(object) then
      return nil
    end
  end
  return #objects > 0 and objects or nil
end

-- A request of a workspace, whose own Redis user may write anything there: nil if the record, or any field, is longer
-- than any of ours.
local function load_request(namespace, id)
  local key = work_key(namespace, 'request:', id)
  if #id > MAX_ID_BYTES or not is_short(key, MAX_RECORD_BYTES) then
    return nil
  end
  local values = redis.call('HMGET', key, unpack(REQUEST_FIELDS))
  for i, field in ipairs(REQUEST_FIELDS) do
    if #(values[i] or '') > (LONGER_FIELDS[field] or MAX_FIELD_BYTES) then
      return nil
    end
  end
  -- All fields are written with the request's submission: fewer means that a tenant made it.
  if not (values[1] and values[2] and values[3] and values[4] and values[5] and values[6] and values[7] and values[8]
    and values[9]) then
    return nil
  end
  return {
    namespace = namespace, id = id, key = key,
    status = values[1], deployment = values[2], modality = values[3], api_key = values[4], order = values[5],
    queued_at = tonumber(values[6]), registration_id = values[7], price = values[8], keep_ms = tonumber(values[9]),
    inputs = values[10], webhook_url = values[11] or '', claim = token_of(values[12]),
    deadline = tonumber(values[13] or 0), attempts = tonumber(values[14] or 0), ended_by = token_of(values[15]),
    claimed_at = tonumber(values[16] or 0), started_at = values[17],
  }
end

-- The shown part of a request: its SHOWN_FIELDS and its result, or nil if unknown. Fronts and the console read it for
-- every workspace, whose Redis user may write anything: values longer than any function writes are omitted.
local function show_request(namespace, id)
  local key = work_key(namespace, 'request:', id)
  if not is_short(key, MAX_RECORD_BYTES) then
    return nil
  end
  local shown = redis.call('HMGET', key, unpack(SHOWN_FIELDS))
  local bytes = 0
  for i = 1, #SHOWN_FIELDS do
    bytes = bytes + #(shown[i] or '')
  end
  if not shown[1] or bytes > MAX_SHOWN_BYTES then
    return nil
  end
  local result = redis.call('GETRANGE', work_key(namespace, 'result:', id), 0, MAX_SHOWN_BYTES)
  table.insert(shown, RESULT_AT, #result <= MAX_SHOWN_BYTES and result or '')
  return shown
end

-- Removes a waiting request from its API key's queue, and the key from the round if that was its last.
local function leave_queue(request)
  local queue = queue_key(request.namespace, request.deployment, request.api_key)
  redis.call('ZREM', queue, request.id)
  if redis.call('ZCARD', queue) == 0 then
    redis.call('ZREM', work_key(request.namespace, 'turns:', request.deployment), request.api_key)
  end
end

local function announce_jobs(namespace, deployment)
  redis.call('PUBLISH', 'n:{' .. namespace .. '}:jobs:' .. deployment, '1')
end

-- Releases a running request for another claim, ahead of requests that never started; it is still shown as running.
local function release_request(request, attempts)
  redis.call('HSET', request.key, 'claim', '', 'attempts', attempts)
  redis.call('ZADD', work_key(request.namespace, 'again:', request.deployment), request.order, request.id)
  redis.call('ZADD', work_key(request.namespace, 'leases'), request.deadline, request.id)
  -- The sweeper may have crossed a deleted deployment off already.
  redis.call('ZADD', work_key(request.namespace, 'deployments'), 'NX', 0, request.deployment)
  announce_jobs(request.namespace, request.deployment)
end
