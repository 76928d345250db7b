--- @include "budget", "clock", "memory", "numbers", "queue", "register", "stored-objects", "usage-charge"
-- Batches and their files: `add_file`, `read_files`, `delete_file`, `create_batch`, `read_batches`, `read_parts`, `cancel_batch`,
-- and a worker's `claim_chunk`, `renew_chunk`, `release_chunk`, `finish_chunk`.

local INDEX_MS = 62 * DAY_SECONDS * SECOND_MS
-- Two months: no window and no retention is longer.
local MAX_KEEP_MS = INDEX_MS
local MAX_HASH_BYTES = 4 * 1024 * 1024
local MAX_RECORD = 128 * 1024
local ENDED = { completed = true, failed = true, expired = true, cancelled = true }

-- The fields of a record in order, as a list; nil if there is no record, or a tenant made it longer than ours.
local function read_fields(key, fields)
  if not is_short(key, MAX_RECORD) then
    return nil
  end
  local values = redis.call('HMGET', key, unpack(fields))
  for i = 1, #fields do
    if values[i] and #values[i] > MAX_BATCH_FIELD_BYTES then
      return nil
    end
  end
  return values[1] and values or nil
end

-- The same by name.
local function load(key, fields)
  local values = read_fields(key, fields)
  if not values then
    return nil
  end
  local record = { key = key }
  for i, field in ipairs(fields) do
    record[field] = values[i] or ''
  end
  return record
end

local function load_batch(namespace, id)
  local batch = #id <= ID_LENGTH and load(batch_key(namespace, id), BATCH_FIELDS)
  if batch then
    batch.namespace, batch.id = namespace, id
  end
  return batch or nil
end

local function load_file(namespace, id)
  return #id == ID_LENGTH and load(file_key(namespace, id), FILE_FIELDS) or nil
end

local function add_to_index(key, micros, id)
  redis.call('ZADD', key, digits(micros), id)
  -- Workspaces' users may run no command that removes a range.
  for _, old in ipairs(redis.call('ZRANGE', key, '-inf', digits(micros - INDEX_MS * 1000), 'BYSCORE', 'LIMIT', 0, READ_AT_ONCE)) do
    redis.call('ZREM', key, old)
  end
  redis.call('PEXPIRE', key, digits(INDEX_MS))
end

local function remove_objects(namespace, now, objects)
  for _, object in ipairs(objects) do
    redis.call('ZADD', cleanup_key(namespace), digits(now), object)
  end
end


-- Forgets the files that have expired or were deleted, of an index that is full.
local function tidy_files(namespace, files)
  for _, id in ipairs(redis.call('ZRANGE', files, 0, MAX_FILES - 1)) do
    if redis.call('EXISTS', file_key(namespace, id)) == 0 then
      redis.call('ZREM', files, id)
    end
  end
end

-- Keeps an uploaded file. KEYS: its record. ARGV: namespace, id, deployment, its object, its chunks with commas between,
-- milliseconds for which it is kept, then fields as pairs. Safe to repeat with the same id.
register('add_file', function(keys, args, namespace, id, deployment, object, chunks, keep_ms)
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'added'
  end
  if redis.call('HGET', config_limits_key(namespace), deployment) == false then
    return 'gone'
  end
  local files = files_key(namespace, deployment)
  if redis.call('ZCARD', files) >= MAX_FILES then
    tidy_files(namespace, files)
    if redis.call('ZCARD', files) >= MAX_FILES then
      return 'full'
    end
  end
  local micros, keep = now_micros(), bound(keep_ms, MAX_KEEP_MS)
  local now = math.floor(micros / 1000)
  local count, places = 0, {}
  for place in string.gmatch(chunks, '[^,]+') do
    places[#places + 1] = digits(count)
    places[#places + 1] = place
    count = count + 1
  end
  if count > MAX_CHUNKS then
    return redis.error_reply('ERR The file has too many chunks')
  end
  redis.call('HSET', keys[1], 'kind', 'input', 'deployment', deployment, 'created_at', digits(now),
    'expires_at', digits(now + keep), 'object', object, 'chunks', digits(count), 'uses', '0',
    unpack(args, SIGNATURES.add_file.fixed + 1))
  redis.call('PEXPIRE', keys[1], digits(keep))
  if count > 0 then
    redis.call('HSET', chunks_key(namespace, id), unpack(places))
    redis.call('PEXPIRE', chunks_key(namespace, id), digits(keep))
  end
  add_to_index(files, micros, id)
  redis.call('ZADD', cleanup_key(namespace), digits(now + keep), object)
  return 'added'
end)

local function read_records(namespace, args, key_of, fields)
  local records = {}
  for i = 2, #args do
    records[i - 1] = #args[i] == ID_LENGTH and read_fields(key_of(namespace, args[i]), fields) or {}
  end
  return records
end

-- FILE_FIELDS of each file, none of an unknown one. KEYS: one of them. ARGV: namespace, ids.
register('read_files', function(_, args, namespace)
  return read_records(namespace, args, file_key, FILE_FIELDS)
end)

-- BATCH_FIELDS of each batch. KEYS: one of them. ARGV: namespace, ids.
register('read_batches', function(_, args, namespace)
  return read_records(namespace, args, batch_key, BATCH_FIELDS)
end)

local function decode_part(text)
  local is_json, part = pcall(cjson.decode, #text <= MAX_PART_BYTES and text or '')
  return is_json and type(part) == 'table' and part or {}
end

-- Removes a file's record now and its objects soon. KEYS: the record. ARGV: namespace, id.
register('delete_file', function(keys, namespace, id)
  local file = load_file(namespace, id)
  if not file then
    return 'unknown'
  end
  if parse_number(file.uses) > 0 then
    return 'in_use'
  end
  local objects = file.object ~= '' and { file.object } or {}
  local parts = file.batch ~= '' and parts_key(namespace, file.batch)
  if parts and is_short(parts, MAX_HASH_BYTES) then
    local place = file.kind == 'output' and 2 or 4
    for _, text in ipairs(redis.call('HVALS', parts)) do
      local object = decode_part(text)[place]
      if is_object(object) and object ~= '' then
        objects[#objects + 1] = object
      end
    end
  end
  remove_objects(namespace, now_ms(), objects)
  -- Its id stays in the index: a client that deletes what it lists goes on after it.
  redis.call('UNLINK', keys[1], chunks_key(namespace, id))
  return 'deleted'
end)

-- What up to READ_AT_ONCE chunks from a number on have written. KEYS: the batch. ARGV: namespace, batch, number of the first one.
register('read_parts', function(_, namespace, id, first)
  local numbers, key = {}, parts_key(namespace, id)
  if not is_short(key, MAX_HASH_BYTES) then
    return {}
  end
  for i = 0, READ_AT_ONCE - 1 do
    numbers[i + 1] = digits(bound(first, MAX_CHUNKS) + i)
  end
  local parts = redis.call('HMGET', key, unpack(numbers))
  for i = 1, READ_AT_ONCE do
    if parts[i] and #parts[i] > MAX_PART_BYTES then
      parts[i] = false
    end
  end
  return parts
end)

local function write_event(batch, now, status)
  local event = 'evt_' .. string.sub(batch.id, 7)
  local seconds = digits(math.floor(now / SECOND_MS))
  local row = table.concat({
    '\n{"id":"', event, '","type":"batch.', status, '","created_at":', seconds, ',"data":{"id":"', batch.id,
    '","status":"', status, '","namespace_name":"', batch.namespace, '","deployment":', cjson.encode(batch.deployment),
    ',"created_at":', digits(math.floor(parse_number(batch.created_at) / SECOND_MS)), ',"ended_at":', seconds, '}}',
  })
  redis.call('SET', event_key(batch.namespace, event), row)
  redis.call('ZADD', outbox_key(batch.namespace), digits(now), event)
  redis.call('PUBLISH', events_channel(batch.namespace), '1')
end

-- Adds the file of what the batch's chunks have written, if they have.
local function add_written(batch, now, kind)
  local bytes = parse_number(batch[kind .. '_bytes'])
  local id = batch[kind .. '_file']
  if bytes == 0 or #id ~= ID_LENGTH then
    return
  end
  local key, keep = file_key(batch.namespace, id), parse_number(batch.keep_ms)
  redis.call('HSET', key, 'kind', kind, 'deployment', batch.deployment, 'name', batch.id .. '_' .. kind .. '.jsonl',
    'bytes', digits(bytes), 'created_at', digits(now), 'expires_at', digits(now + keep), 'batch', batch.id, 'uses', '0',
    'chunks', batch.chunks)
  redis.call('PEXPIRE', key, digits(math.max(1, keep)))
  add_to_index(files_key(batch.namespace, batch.deployment), now_micros(), id)
end

local function end_batch(batch, now, status)
  local namespace, id = batch.namespace, batch.id
  redis.call('HSET', batch.key, 'status', status, 'ended_at', digits(now))
  redis.call('ZREM', open_batches_key(namespace, batch.deployment), id)
  redis.call('ZREM', closing_batches_key(namespace), id)
  redis.call('UNLINK', waiting_chunks_key(namespace, id), leased_chunks_key(namespace, id), chunk_claims_key(namespace, id))
  local input = file_key(namespace, batch.file)
  if status ~= 'failed' and redis.call('EXISTS', input) == 1 then
    redis.call('HINCRBY', input, 'uses', -1)
  end
  add_written(batch, now, 'output')
  add_written(batch, now, 'error')
  write_event(batch, now, status)
end

-- Starts a batch, or ends it at once with the errors of its file. KEYS: its record. ARGV: namespace, id, deployment, file,
-- errors or '', milliseconds of its window, milliseconds for which its files are kept, then fields as pairs.
-- Returns `created`, also for a repeat with the same id, or why not.
register('create_batch', function(keys, args, namespace, id, deployment, file, errors, window_ms, keep_ms)
  if redis.call('EXISTS', keys[1]) == 1 then
    return { 'created' }
  end
  local input = load_file(namespace, file)
  if not input or input.deployment ~= deployment or input.kind ~= 'input' then
    return { 'unknown_file' }
  end
  if redis.call('HGET', config_limits_key(namespace), deployment) == false then
    return { 'gone' }
  end
  local refusal = redis.call('HGET', config_workspace_key(namespace), 'asyncRefusal')
  if refusal then
    return { 'refused', refusal }
  end
  local open = open_batches_key(namespace, deployment)
  if redis.call('ZCARD', open) >= MAX_OPEN_BATCHES then
    return { 'full' }
  end
  local micros, window, keep = now_micros(), bound(window_ms, MAX_KEEP_MS), bound(keep_ms, MAX_KEEP_MS)
  local now = math.floor(micros / 1000)
  local until_ms = window + math.max(keep, 30 * DAY_SECONDS * SECOND_MS)
  redis.call('HSET', keys[1], 'status', 'in_progress', 'deployment', deployment, 'file', file, 'created_at', digits(now),
    'expires_at', digits(now + window), 'lines', input.lines, 'chunks', input.chunks, 'object', input.object, 'keep_ms', digits(keep),
    'errors', errors, unpack(args, SIGNATURES.create_batch.fixed + 1))
  redis.call('PEXPIRE', keys[1], digits(until_ms))
  add_to_index(batches_key(namespace, deployment), micros, id)
  if errors ~= '' then
    end_batch(load_batch(namespace, id), now, 'failed')
    return { 'created' }
  end
  -- The input outlives the window: a line that is not run is named by its custom_id.
  redis.call('HINCRBY', input.key, 'uses', 1)
  local least = window + DAY_SECONDS * SECOND_MS
  for _, key in ipairs({ input.key, chunks_key(namespace, file) }) do
    if redis.call('PTTL', key) < least then
      redis.call('PEXPIRE', key, digits(least))
    end
  end
  redis.call('ZADD', cleanup_key(namespace), 'GT', digits(now + least), input.object)
  local waiting, members = waiting_chunks_key(namespace, id), {}
  for chunk = 0, math.min(parse_number(input.chunks), MAX_CHUNKS) - 1 do
    members[#members + 1] = digits(chunk)
    members[#members + 1] = digits(chunk)
  end
  redis.call('ZADD', waiting, unpack(members))
  for _, key in ipairs({ waiting, leased_chunks_key(namespace, id), chunk_claims_key(namespace, id) }) do
    redis.call('PEXPIRE', key, digits(until_ms))
  end
  redis.call('ZADD', open, digits(micros), id)
  redis.call('ZADD', closing_batches_key(namespace), digits(now + window), id)
  announce_jobs(namespace, deployment)
  return { 'created' }
end)

-- Runs no further line of a batch. KEYS: its record. ARGV: namespace, id.
-- Returns `cancelling`, also to a repeat, `ended` or `unknown`.
register('cancel_batch', function(keys, namespace, id)
  local batch = load_batch(namespace, id)
  if not batch then
    return 'unknown'
  end
  if ENDED[batch.status] then
    return 'ended'
  end
  if batch.status == 'in_progress' then
    local now = now_ms()
    redis.call('HSET', keys[1], 'status', 'cancelling', 'cancelling_at', digits(now))
    redis.call('ZADD', closing_batches_key(namespace), digits(now), id)
    announce_jobs(namespace, batch.deployment)
  end
  return 'cancelling'
end)

-- Whether the lines of a batch are run, or why not.
local function find_mode(batch, now)
  if batch.status == 'cancelling' then
    return 'cancelled'
  end
  if now < parse_number(batch.expires_at) then
    return 'run'
  end
  if batch.status == 'in_progress' then
    batch.status = 'finalizing'
    redis.call('HSET', batch.key, 'status', batch.status, 'finalizing_at', digits(now))
  end
  return 'expired'
end

-- A field that is as short as ours, or nil.
local function read_short(key, field)
  return redis.call('HSTRLEN', key, field) <= MAX_FIELD_BYTES and redis.call('HGET', key, field) or nil
end

local function take_chunk(batch, now)
  local leased, waiting = leased_chunks_key(batch.namespace, batch.id), waiting_chunks_key(batch.namespace, batch.id)
  for _, chunk in ipairs(redis.call('ZRANGE', leased, '-inf', now, 'BYSCORE', 'LIMIT', 0, READ_AT_ONCE)) do
    redis.call('ZREM', leased, chunk)
    redis.call('ZADD', waiting, parse_number(chunk), chunk)
  end
  local chunk = redis.call('ZPOPMIN', waiting)[1]
  return chunk and #chunk <= MAX_NUMBER_BYTES and chunk or nil
end

-- The budgets that bound the batch's key, as text; nil without the key.
local function read_budgets(batch)
  local text = redis.call('HGET', config_api_keys_key(batch.namespace), batch.key_hash)
  return text and list_budgets(batch.namespace, cjson.decode(text)) or nil
end

-- What is being run counts in them even if the key is deleted meanwhile.
local function note_budgets(batch)
  local budgets = read_budgets(batch)
  if budgets and budgets ~= batch.budgets then
    redis.call('HSET', batch.key, 'budgets', budgets)
  end
end

-- Leases the next chunk of lines, of batches in turn. KEYS: the deployment's open batches, or, without a deployment, the closing
-- ones, whose lines are not run. ARGV: namespace, deployment or '', the worker's token, lease in milliseconds, batches to
-- leave out, with spaces between. Returns batch, chunk, whether its lines are run, its place, then the batch's object, endpoint, hash and name of the key; or nil.
register('claim_chunk', function(keys, namespace, deployment, token, lease_ms, skipped)
  local micros, lease = now_micros(), bound(lease_ms, MAX_LEASE_MS)
  local now = math.floor(micros / 1000)
  local due = redis.call('ZRANGE', keys[1], '-inf', deployment == '' and digits(now) or '+inf', 'BYSCORE', 'LIMIT', 0, READ_AT_ONCE)
  for _, id in ipairs(due) do
    local batch = load_batch(namespace, id)
    if not batch or ENDED[batch.status] then
      redis.call('ZREM', keys[1], id)
    elseif not string.find(skipped, id, 1, true) then
      local chunk = take_chunk(batch, now)
      local place = chunk and read_short(chunks_key(namespace, batch.file), chunk)
      if place then
        local mode = find_mode(batch, now)
        redis.call('ZADD', leased_chunks_key(namespace, id), digits(now + lease), chunk)
        redis.call('HSET', chunk_claims_key(namespace, id), chunk, token)
        note_budgets(batch)
        if deployment ~= '' then
          redis.call('ZADD', keys[1], digits(micros), id)
        end
        return { id, chunk, mode, place, batch.object, batch.endpoint, batch.key_hash, batch.key_name }
      end
    end
  end
  return false
end)

local function is_claimed(namespace, id, chunk, token)
  return read_short(chunk_claims_key(namespace, id), chunk) == token
end

-- Renews a worker's claim. KEYS: the batch. ARGV: namespace, batch, chunk, token, lease in milliseconds.
-- Returns whether lines are still run, or `stale`.
register('renew_chunk', function(_, namespace, id, chunk, token, lease_ms)
  local batch = is_claimed(namespace, id, chunk, token) and load_batch(namespace, id)
  if not batch or ENDED[batch.status] then
    return 'stale'
  end
  local now = now_ms()
  redis.call('ZADD', leased_chunks_key(namespace, id), digits(now + bound(lease_ms, MAX_LEASE_MS)), chunk)
  redis.call('ZREM', waiting_chunks_key(namespace, id), chunk)
  return find_mode(batch, now)
end)

-- Returns a chunk undone: a worker that drains. KEYS: the batch. ARGV: namespace, batch, chunk, token.
register('release_chunk', function(_, namespace, id, chunk, token)
  if not is_claimed(namespace, id, chunk, token) then
    return 0
  end
  local batch = load_batch(namespace, id)
  redis.call('HDEL', chunk_claims_key(namespace, id), chunk)
  redis.call('ZREM', leased_chunks_key(namespace, id), chunk)
  redis.call('ZADD', waiting_chunks_key(namespace, id), parse_number(chunk), chunk)
  if batch then
    announce_jobs(namespace, batch.deployment)
  end
  return 1
end)

-- Charges the batch's key, its budgets and its workspace.
local function charge(batch, now, tokens, micros)
  -- A tenant may have written the record, and a chunk must end.
  local is_read, budgets = pcall(load_budgets, batch.namespace, read_budgets(batch) or batch.budgets, now)
  local counted = #batch.key_hash > 0 and tokens or '0'
  charge_usage(batch.namespace, batch.key_hash, counted, micros, is_read and budgets or {}, now)
end

-- Accepts what a chunk has written, once: it is counted and charged with it, and the last one ends the batch. KEYS: the batch.
-- ARGV: namespace, batch, chunk, token, objects and bytes of its output and errors, lines of each, price in millionths, tokens.
-- Returns `done`, also to a repeat, or `stale`; only after that does a worker remove its objects.
register('finish_chunk', function(_, namespace, id, chunk, token, output_object, output_bytes, error_object, error_bytes, completed, failed,
  micros, input_tokens, cached_tokens, output_tokens, total_tokens)
  for _, amount in ipairs({
    output_bytes, error_bytes, completed, failed, micros, input_tokens, cached_tokens, output_tokens, total_tokens,
  }) do
    if not is_amount(amount) then
      return redis.error_reply('ERR Amounts must be whole numbers')
    end
  end
  local parts = parts_key(namespace, id)
  local known = redis.call('HSTRLEN', parts, chunk) <= MAX_PART_BYTES and redis.call('HGET', parts, chunk)
  if known then
    return decode_part(known)[1] == token and 'done' or 'stale'
  end
  local batch = is_claimed(namespace, id, chunk, token) and load_batch(namespace, id)
  if not batch or ENDED[batch.status] then
    return 'stale'
  end
  local now = now_ms()
  redis.call('HSET', parts, chunk, cjson.encode({
    token, output_object, tonumber(output_bytes), error_object, tonumber(error_bytes),
  }))
  redis.call('PEXPIRE', parts, digits(math.max(1, redis.call('PTTL', batch.key))))
  redis.call('ZREM', leased_chunks_key(namespace, id), chunk)
  redis.call('ZREM', waiting_chunks_key(namespace, id), chunk)
  redis.call('HDEL', chunk_claims_key(namespace, id), chunk)
  local removed_at = math.max(now, parse_number(batch.expires_at)) + parse_number(batch.keep_ms)
  for _, object in ipairs({ output_object, error_object }) do
    if object ~= '' then
      redis.call('ZADD', cleanup_key(namespace), digits(removed_at), object)
    end
  end
  for field, amount in pairs({
    output_bytes = output_bytes, error_bytes = error_bytes, completed = completed, failed = failed, micros = micros,
    input_tokens = input_tokens, cached_tokens = cached_tokens, output_tokens = output_tokens, total_tokens = total_tokens,
  }) do
    redis.call('HINCRBY', batch.key, field, amount)
  end
  charge(batch, now, total_tokens, micros)
  if redis.call('HINCRBY', batch.key, 'done', 1) >= parse_number(batch.chunks) then
    local status = batch.status == 'cancelling' and 'cancelled' or batch.status == 'finalizing' and 'expired' or 'completed'
    end_batch(load_batch(namespace, id), now, status)
  end
  return 'done'
end)
