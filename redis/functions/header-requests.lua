-- What the functions on requests share: their keys, their configuration, and the one way in which a request ends.
-- The keys are listed in contract/redis-keys.ts, the states in docs/requests.md.
local MAX_EVENT_BYTES = 65536
local MAX_SHOWN_BYTES = 65536
-- As redis/request-record.ts takes them.
local SHOWN_FIELDS = {
  'status', 'deployment', 'registration_id', 'modality', 'model', 'size', 'seconds', 'progress', 'queued_at', 'started_at',
  'completed_at', 'error_code',
}
-- Longer than any answer takes and its refund is tried.
local CHARGE_SECONDS = 1200
local DEADLINE_MESSAGE = 'The request ran for longer than allowed.'

local function work_key(namespace, kind, rest)
  return 'w:{' .. namespace .. '}:' .. kind .. (rest or '')
end

-- Sorted by age; `status` may be `all`.
local function index_key(namespace, deployment, status)
  return 'w:{' .. namespace .. '}:by:' .. deployment .. ':' .. status
end

-- What one API key has waiting, sorted by age.
local function queue_key(namespace, deployment, api_key)
  return 'w:{' .. namespace .. '}:queue:' .. deployment .. ':' .. api_key
end

-- Unix microseconds by Redis' clock: the order of requests and of turns.
local function now_micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- A whole number as text, for who writes it: as a number it would be formatted at every call, and at greater cost.
local function digits(number)
  return string.format('%d', number)
end

-- What submissions and claims go by: the most that may wait, milliseconds that a record stays, milliseconds of a job, and
-- the registration id, all as text; nil where nothing new is accepted or begun.
local function read_limits(namespace, deployment)
  local limits = redis.call('HGET', 'c:{' .. namespace .. '}:limits', deployment)
  if limits then
    return string.match(limits, '^(%d+) (%d+) (%d+) (%d+)$')
  end
end

local function workspace_key(namespace)
  return 'c:{' .. namespace .. '}:workspace'
end

-- Whether a price fits into what is left of the credit that was granted; nil or false = unlimited.
local function afford(namespace, price, granted)
  if not granted then
    return true
  end
  local spent = tonumber(redis.call('GET', work_key(namespace, 'credit')) or 0)
  return spent < tonumber(granted) and spent + tonumber(price) <= tonumber(granted)
end

-- An empty token is nobody's: it must not equal a caller's.
local function token_of(value)
  return value and value ~= '' and value or nil
end

-- A request of a workspace as the functions know it, or nil.
local function load_request(namespace, id)
  local key = work_key(namespace, 'request:', id)
  local values = redis.call('HMGET', key, 'status', 'deployment', 'modality', 'api_key', 'order', 'queued_at',
    'registration_id', 'price', 'keep_ms', 'inputs', 'webhook_url', 'claim', 'deadline', 'attempts', 'ended_by',
    'claimed_at', 'started_at')
  if not values[1] then
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

-- What is shown of a request: its SHOWN_FIELDS and its result, or nil of an unknown one. Fronts and the console read it of
-- every workspace, whose Redis user may write what it likes: what is longer than any function writes is left out.
local function show_request(namespace, id)
  local shown = redis.call('HMGET', work_key(namespace, 'request:', id), unpack(SHOWN_FIELDS))
  local bytes = 0
  for i = 1, #SHOWN_FIELDS do
    bytes = bytes + #(shown[i] or '')
  end
  if not shown[1] or bytes > MAX_SHOWN_BYTES then
    return nil
  end
  local result = redis.call('GETRANGE', work_key(namespace, 'result:', id), 0, MAX_SHOWN_BYTES)
  shown[#SHOWN_FIELDS + 1] = #result <= MAX_SHOWN_BYTES and result or ''
  return shown
end

-- Takes a waiting request out of its API key's queue, and the key out of the round if that was its last.
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

-- Gives a running request up for another claim, before all that was never begun; it stays running to the outside.
local function give_back(request, attempts)
  redis.call('HSET', request.key, 'claim', '', 'attempts', attempts)
  redis.call('ZADD', work_key(request.namespace, 'again:', request.deployment), request.order, request.id)
  redis.call('ZADD', work_key(request.namespace, 'leases'), request.deadline, request.id)
  -- The sweeper may have crossed a deleted deployment off already.
  redis.call('ZADD', work_key(request.namespace, 'deployments'), 'NX', 0, request.deployment)
  announce_jobs(request.namespace, request.deployment)
end

local EVENT_TYPES = { succeeded = 'request.completed', failed = 'request.failed', canceled = 'request.canceled' }

local function encode_text(text)
  return (text and text ~= '') and cjson.encode(text) or 'null'
end

-- The row of the outbox: callback, line break, body. It is put together as text, since cjson writes 14 digits and a
-- registration id may have 15, and in one go, since Lua hashes every long string that it makes.
local function encode_event(request, now, ending, payload)
  local seconds = digits(math.floor(now / SECOND_MS))
  return table.concat({
    request.webhook_url, '\n{"id":"', ending.event, '","type":"', EVENT_TYPES[ending.status], '","created_at":', seconds,
    ',"data":{"id":"', request.id, '","status":"', ending.status, '","modality":"', request.modality,
    '","namespace_name":"', request.namespace, '","registration_id":', request.registration_id,
    ',"created_at":', digits(math.floor(request.queued_at / SECOND_MS)), ',"completed_at":', seconds,
    ',"output_object_key":', encode_text(ending.object_key), ',"output_bucket":', encode_text(ending.bucket),
    ',"result_payload":', payload, ',"error_code":', encode_text(ending.code),
    ',"error_message":', encode_text(ending.message), '}}',
  })
end

-- One event a request, with the digits of the request's id, so that nothing can ever make a second one.
local function write_event(request, now, ending)
  ending.event = 'evt_' .. string.sub(request.id, 5)
  local payload = ending.payload and ending.payload ~= '' and ending.payload or '{}'
  local row = encode_event(request, now, ending, payload)
  if #row - #request.webhook_url - 1 > MAX_EVENT_BYTES then
    row = encode_event(request, now, ending, '{"_truncated":true}')
  end
  redis.call('SET', work_key(request.namespace, 'event:', ending.event), row)
  redis.call('ZADD', work_key(request.namespace, 'outbox'), digits(now), ending.event)
  redis.call('PUBLISH', 'n:{' .. request.namespace .. '}:events', '1')
end

-- Ends a request for good: state, indexes, credit, inputs, event. The caller has taken it out of queue or `again`.
-- `ending`: status, and as they apply code, message, by (the caller's token), output, bucket, object_key, payload.
local function end_request(request, now, ending)
  local namespace, id = request.namespace, request.id
  local at = digits(now)
  redis.call('ZREM', index_key(namespace, request.deployment, request.status), id)
  redis.call('ZADD', index_key(namespace, request.deployment, ending.status), request.order, id)
  if request.status == 'running' then
    redis.call('ZREM', work_key(namespace, 'leases'), id)
  end
  redis.call('ZADD', work_key(namespace, 'ended'), digits(now + request.keep_ms), id)
  redis.call('HSET', request.key, 'status', ending.status, 'completed_at', at, 'ended_by', ending.by or '',
    'error_code', ending.code or '')
  -- Apart from the record, which stays small and flat that way.
  local result = ending.output or ending.message
  if result then
    redis.call('SET', work_key(namespace, 'result:', id), result)
  end
  -- The prompt goes with the parameters.
  redis.call('DEL', work_key(namespace, 'params:', id))
  if ending.status ~= 'succeeded' and request.price ~= '0' then
    redis.call('INCRBY', work_key(namespace, 'credit'), '-' .. request.price)
  end
  if request.inputs then
    for _, object in ipairs(cjson.decode(request.inputs)) do
      redis.call('ZADD', work_key(namespace, 'cleanup'), at, object)
    end
  end
  write_event(request, now, ending)
end
