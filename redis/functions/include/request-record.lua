--- @include "memory"
-- Records of requests. A workspace's own Redis user may write anything there. States: docs/requests.md.
local MAX_SHOWN_BYTES = 65536
local MAX_ID_BYTES = 64
local NUMBER_FIELDS = { 'queued_at', 'keep_ms', 'deadline', 'attempts', 'claimed_at' }

-- An empty token belongs to nobody: it must not equal a caller's.
local function token_of(value)
  return value and value ~= '' and value or nil
end

-- The RECORD_FIELDS of a request by name, its namespace, id and key; nil if the record or any field is longer than ours, or
-- lacks one of those that are written with the submission.
local function load_request(namespace, id)
  local key = request_key(namespace, id)
  if #id > MAX_ID_BYTES or not is_short(key, MAX_RECORD_BYTES) then
    return nil
  end
  local values = redis.call('HMGET', key, unpack(RECORD_FIELDS))
  local request = { namespace = namespace, id = id, key = key }
  for i, field in ipairs(RECORD_FIELDS) do
    local value = values[i]
    if value and #value > (LONGER_FIELDS[field] or MAX_FIELD_BYTES) or not value and i <= SUBMITTED_COUNT then
      return nil
    end
    request[field] = value
  end
  for _, field in ipairs(NUMBER_FIELDS) do
    request[field] = tonumber(request[field] or 0)
  end
  request.claim, request.ended_by = token_of(request.claim), token_of(request.ended_by)
  request.webhook_url = request.webhook_url or ''
  return request
end

-- The shown part of a request: its SHOWN_FIELDS and its result, or nil if unknown. Fronts and the console read it for
-- every workspace: values longer than any function writes are omitted.
local function show_request(namespace, id)
  local key = request_key(namespace, id)
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
  local result = redis.call('GETRANGE', result_key(namespace, id), 0, MAX_SHOWN_BYTES)
  table.insert(shown, RESULT_AT, #result <= MAX_SHOWN_BYTES and result or '')
  return shown
end
