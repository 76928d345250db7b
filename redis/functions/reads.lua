--- @include "clock", "memory", "numbers", "queue", "register", "request-record"
-- Reads: `list`, `search`, `read`, `names`, `pace`, `place`, `usage`.

local MAX_LIST = 500

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

-- The rank in an index at which to continue after an id, or nil if unknown.
local function rank_after(keys, after, is_ascending)
  local rank = redis.call('ZRANK', keys[1], after)
  if rank then
    return is_ascending and rank + 1 or redis.call('ZCARD', keys[1]) - rank
  end
  local score = keys[2] and redis.call('ZSCORE', keys[2], after)
  if not score then
    return nil
  end
  return is_ascending and redis.call('ZCOUNT', keys[1], '-inf', score) or redis.call('ZCOUNT', keys[1], score, '+inf')
end

-- Which ranks to read of an index: those after an id, of times (Unix microseconds as text, '' = open) from `since` to before
-- `before`, at most `limit`; nil after an unknown id. Counting by time is as fast as finding a rank.
local function find_range(keys, query)
  local start = query.after == '' and 0 or rank_after(keys, query.after, query.is_ascending)
  if not start then
    return nil
  end
  local earlier = query.since == '' and 0 or redis.call('ZCOUNT', keys[1], '-inf', '(' .. query.since)
  local later = query.before == '' and 0 or redis.call('ZCOUNT', keys[1], query.before, '+inf')
  local skipped, left = later, earlier
  if query.is_ascending then
    skipped, left = earlier, later
  end
  start = math.max(start, skipped)
  return {
    start = start, is_ascending = query.is_ascending,
    limit = left == 0 and query.limit or math.max(0, math.min(query.limit, redis.call('ZCARD', keys[1]) - left - start)),
  }
end

local function is_time(text)
  return #text <= MAX_NUMBER_BYTES and string.match(text, '^%d*$')
end

local function refuse_times()
  return redis.error_reply('ERR Times are whole numbers')
end

-- Ids of an index by age. KEYS: the index; the one of every status. ARGV: how many, MAX_LIST at most; `asc` for the oldest first;
-- the id after which to start, or '': if it has left the index for another status, its time counts, and nothing
-- follows an unknown one; times as `find_range` takes them. What is no id in length is left out, as in `show_request`.
register('list', function(keys, limit, order, after, since, before)
  since, before = since or '', before or ''
  if not (is_time(since) and is_time(before)) then
    return refuse_times()
  end
  local range = find_range(keys, {
    after = after or '', since = since, before = before, is_ascending = order == 'asc', limit = bound(limit, MAX_LIST),
  })
  return range and read_last(keys[1], range.limit, function(id)
    return #id == ID_LENGTH
  end, range) or {}
end)

-- Searches for requests of some submitters, newest first, in small steps. KEYS: the index; the one of every status. ARGV:
-- namespace, how many to find, the id after which to begin, or '', times as `find_range` takes them, then names of API keys
-- and digits of their hashes. Returns the last id that was examined and its time, both '' where none is left, then those found.
local SUBMITTER_FIELDS = { 'api_key', 'key_name' }

local function is_submitted_by(namespace, id, submitters)
  local key = request_key(namespace, id)
  for _, field in ipairs(SUBMITTER_FIELDS) do
    if redis.call('HSTRLEN', key, field) <= MAX_FIELD_BYTES and submitters[redis.call('HGET', key, field)] then
      return true
    end
  end
  return false
end

register('search', function(keys, args, namespace, limit, after, since, before)
  limit = bound(limit, MAX_SEARCHED)
  if not (is_time(since) and is_time(before)) then
    return refuse_times()
  end
  local range = find_range(keys, { after = after, since = since, before = before, limit = MAX_SEARCHED })
  local submitters = {}
  for i = SIGNATURES.search.fixed + 1, #args do
    submitters[args[i]] = true
  end
  local last, looked, found = '', 0, 0
  local ids = range and limit > 0 and read_last(keys[1], range.limit, function(id)
    if found == limit then
      return false
    end
    looked = looked + 1
    if #id ~= ID_LENGTH then
      return false
    end
    last = id
    local is_found = is_submitted_by(namespace, id, submitters)
    found = found + (is_found and 1 or 0)
    return is_found
  end, range) or {}
  local is_last = looked < MAX_SEARCHED and found < limit
  local answer = is_last and { '', '' } or { last, last ~= '' and redis.call('ZSCORE', keys[1], last) or '' }
  for i = 1, #ids do
    answer[i + 2] = ids[i]
  end
  return answer
end)

-- Reads requests. KEYS: the record of the first. ARGV: namespace, ids. Returns the shown part of each, or nil.
register('read', function(_, args, namespace)
  local requests = {}
  for i = 2, #args do
    requests[i - 1] = show_request(namespace, args[i]) or false
  end
  return requests
end)

-- Names of deployments that had requests, the latest first. KEYS: the deployments. ARGV: how many, MAX_NAMES at most. What is
-- longer than a name is omitted.
local MAX_NAME_BYTES = 63

register('names', function(keys, limit)
  return read_last(keys[1], bound(limit, MAX_NAMES), function(name)
    return #name <= MAX_NAME_BYTES
  end)
end)

-- The average milliseconds of a deployment's jobs, as text; nil before the first. KEYS: the pace.
register('pace', function(keys)
  local average = redis.call('HGET', keys[1], 'average_ms')
  return average and #average <= MAX_NUMBER_BYTES and average
end)

-- Where a queued request stands. KEYS: its record. ARGV: namespace, id. Returns how many are expected to start before it, -1 if more API
-- keys wait than are read; how many wait, those without a worker included, and run; and the average milliseconds of a job, '' before the first. Nil if it is not queued.
local MAX_TURNS = 100
local MAX_API_KEY_BYTES = 24

-- The API keys that wait and their priorities, in the order of their turns; nil if there are more than are read.
local function read_turns(turns, micros)
  if redis.call('ZCARD', turns) > MAX_TURNS then
    return nil
  end
  local waiting = {}
  for first = 0, MAX_TURNS - 1, READ_AT_ONCE do
    local read = redis.call('ZRANGE', turns, first, first + READ_AT_ONCE - 1, 'WITHSCORES')
    for i = 1, #read, 2 do
      waiting[#waiting + 1] = { api_key = read[i], priority = priority_of(read[i + 1], micros) }
    end
  end
  return waiting
end

-- Requests that start before one with `own` of its API key ahead of it: keys of its priority take turns, those of a higher one come first.
local function count_ahead(request, own, waiting)
  local ahead, mine, at = own, nil, nil
  for i, turn in ipairs(waiting) do
    if turn.api_key == request.api_key then
      mine, at = turn.priority, i
    end
  end
  for i, turn in ipairs(waiting) do
    if mine and i ~= at and turn.priority >= mine and #turn.api_key <= MAX_API_KEY_BYTES then
      local length = redis.call('ZCARD', queue_key(request.namespace, request.deployment, turn.api_key))
      local turns = i < at and own + 1 or own
      ahead = ahead + (turn.priority > mine and length or math.min(length, turns))
    end
  end
  return ahead
end

register('place', function(_, namespace, id)
  local request = load_request(namespace, id)
  local own = request and request.status == 'queued'
    and redis.call('ZRANK', queue_key(namespace, request.deployment, request.api_key), id)
  if not own then
    return false
  end
  local deployment = request.deployment
  local waiting = read_turns(turns_key(namespace, deployment), now_micros())
  -- Those that lost their worker come first; they are among the running ones.
  local again = redis.call('ZCARD', again_key(namespace, deployment))
  return {
    waiting and again + count_ahead(request, own, waiting) or -1,
    redis.call('ZCARD', index_key(namespace, deployment, 'queued')) + again,
    redis.call('ZCARD', index_key(namespace, deployment, 'running')) - again,
    read_pace(namespace, deployment) or '',
  }
end)

-- A deployment's usage in one period. KEYS: the hash of the period. Returns its fields and counters,
-- alternating; none if there is more than any gateway writes.
local MAX_USAGE_BYTES = 512 * 1024

register('usage', function(keys)
  return is_short(keys[1], MAX_USAGE_BYTES) and redis.call('HGETALL', keys[1]) or {}
end)
