--- @include "budget", "clock", "numbers", "register", "usage-charge"
-- Keys of the API: `admit` before a request, `uncount` and `settle` after it.

-- Authenticates API keys and, where requested, checks credit and limits and counts one request of each.
-- KEYS: the RPM counter of each request's key. ARGV: namespace, then for each request its key's SHA-256 and
-- '0' to only authenticate, '1' to check all limits and count, '2' for RPM alone: it will spend nothing; '3' for RPM alone of
-- one that no replica has counted: it waits at a front, or was refused there, and counts apart until the minute is over;
-- '1+n' as '1', and leases up to n further requests. A library before leases counts one and checks RPM alone, so callers
-- check credit and TPD from the numbers.
-- Returns a text for each request, `failed` and why, or with spaces between:
--   the verdict, numbers, the key's name and its priority;
--   for a lease its requests, milliseconds, and the credit left in millionths or -1 = unlimited;
--   for a key with budgets or deployments, after 0 0 -1 if there is no lease: its budgets, the one with least left, the millionths
--   that it has left, the deployments, and 1 if the workspace has credit left. `-` stands for none.
-- A key whose budget is used up has the verdict of a workspace without credit, which older gateways report.
-- Configuration is read undeclared: a tenant may only read it, and declared keys must be writable.
local SHA256_BYTES = 64
-- A lease has at most this part of what is left of the minute, so below 256 every request is counted by itself.
local LEASE_PARTS = 256
local LEASE_MS = 100
-- Below this part of a budget nothing is leased: others could spend it during the lease (decision 0390).
local LEASE_BUDGET_PARTS = 8

-- The budget that has least left, how much that is, and whether requests can be leased; nil and nil without budgets.
local function find_tightest(budgets)
  local tightest, least, can_lease = nil, nil, true
  for _, budget in ipairs(budgets) do
    local left = math.max(0, budget.amount - budget.spent)
    if not least or left < least then
      tightest, least = budget, left
    end
    can_lease = can_lease and left * LEASE_BUDGET_PARTS > budget.amount
  end
  return tightest, least, can_lease
end

-- It writes no other counters than those of published keys, so it needs no reserve.
register('admit', function(keys, args, namespace)
  local now = now_ms()
  local seconds = math.floor(now / SECOND_MS)
  local day = math.floor(seconds / DAY_SECONDS)
  local day_reset = (day + 1) * DAY_SECONDS

  -- The workspace's credit and its owners' budgets, each read once in a call: an owner costs a lone request no command.
  local granted, credit, owners = nil, nil, {}
  local function read_workspace(own)
    local workspace, field = config_workspace_key(namespace), own and owners[own] == nil and 'owner:' .. own
    if granted == nil then
      if field then
        granted, owners[own] = unpack(redis.call('HMGET', workspace, 'creditMicros', field))
      else
        granted = redis.call('HGET', workspace, 'creditMicros')
      end
      credit = granted and tonumber(granted) - read_number(credit_key(namespace))
    elseif field then
      owners[own] = redis.call('HGET', workspace, field)
    end
    return own and owners[own] or false
  end

  local function admit(counter, sha256, mode)
    -- The caller names the counter, but it must be the key's own: otherwise counters could grow without limit.
    if counter ~= rpm_key(namespace, sha256) or #sha256 ~= SHA256_BYTES then
      error('the counter of another key')
    end
    local published = redis.call('HGET', config_api_keys_key(namespace), sha256)
      or redis.call('GET', config_session_key(namespace, sha256))
    if not published then
      return 'unknown_key 0 0 0 0 0 0 0 0 0 '
    end
    local key = cjson.decode(published)
    local used = read_number(tpd_key(namespace, sha256, day))
    local text = list_budgets(namespace, key, read_workspace(key.own))
    local budgets = load_budgets(namespace, text, now)
    local tightest, budget_left, can_lease = find_tightest(budgets)
    local credit_left = not credit or credit > 0
    local may_spend = credit_left and budget_left ~= 0

    -- `taken` and `ttl` describe the minute's window: its requests so far and what is left of it. `lease`: as text.
    local function answer(verdict, taken, ttl, retry_after, lease)
      local more = lease
      if text ~= '' or key.dep then
        more = table.concat({
          lease or '0 0 -1', text == '' and '-' or text, tightest and describe_budget(tightest) or '-',
          digits(budget_left or -1), key.dep or '-', credit_left and 1 or 0,
        }, ' ')
      end
      return table.concat({
        verdict, key.exp, may_spend and 1 or 0,
        key.rpm, math.max(0, key.rpm - taken), math.ceil((now + ttl) / SECOND_MS),
        key.tpd, used, day_reset, retry_after, key.n, key.pri or 0, more,
      }, ' ')
    end
    local function answer_uncounted(verdict, retry_after)
      local ttl = redis.call('PTTL', counter)
      if ttl <= 0 then
        return answer(verdict, 0, MINUTE_MS, retry_after)
      end
      return answer(verdict, read_number(counter), ttl, retry_after)
    end

    if key.off == 1 then
      return answer_uncounted('disabled', 0)
    end
    if key.exp > 0 and now >= key.exp * SECOND_MS then
      return answer_uncounted('expired', 0)
    end
    if mode == '0' then
      return answer_uncounted('ok', 0)
    end
    local asked = tonumber(string.match(mode, '^1%+(%d+)$'))
    local spends = asked or mode == '1'
    if spends and not may_spend then
      return answer_uncounted('credit', 0)
    end
    if spends and used >= key.tpd then
      return answer_uncounted('tpd', day_reset - seconds)
    end

    local waits = mode == '3'
    local counted = waits and rpm_waiting_key(namespace, sha256) or counter
    local taken = redis.call('INCR', counted) + (waits and read_number(counter) or 0)
    local ttl = redis.call('PTTL', counted)
    if ttl < 0 then
      redis.call('PEXPIRE', counted, MINUTE_MS)
      ttl = MINUTE_MS
    end
    if taken > key.rpm then
      -- Undone, so that after a raised limit the window counts only served requests.
      redis.call('DECR', counted)
      return answer('rpm', taken - 1, ttl, math.max(1, math.ceil(ttl / SECOND_MS)))
    end
    local leased = math.min(asked or 0, math.floor((key.rpm - taken) / LEASE_PARTS))
    if leased < 1 or not can_lease then
      return answer('ok', taken, ttl, 0)
    end
    redis.call('INCRBY', counter, digits(leased))
    -- It ends with whatever its answer depends on.
    local ends = math.min(now + math.min(LEASE_MS, ttl), day_reset * SECOND_MS)
    if key.exp > 0 then
      ends = math.min(ends, key.exp * SECOND_MS)
    end
    for _, budget in ipairs(budgets) do
      ends = math.min(ends, budget.ends_at * SECOND_MS)
    end
    local left = math.min(credit or budget_left or -1, budget_left or credit or -1, MAX_NUMBER)
    return answer('ok', taken + leased, ttl, 0, table.concat({ leased, ends - now, digits(left) }, ' '))
  end

  local answers = {}
  for index = 1, #keys do
    -- Requests of others share the call: errors of one key must not affect others.
    local ok, result = pcall(admit, keys[index], args[2 * index], args[2 * index + 1])
    answers[index] = ok and result or 'failed ' .. (type(result) == 'table' and result.err or tostring(result))
  end
  return answers
end)

-- Removes requests from their API key's minute, as long as that minute lasts.
-- KEYS: the RPM counter. ARGV: the minute's end in Unix seconds, as `admit` returned it; how many (absent: 1).
-- Returns 1 if they were uncounted.
register('uncount', function(keys, ends_at, count)
  local ttl = redis.call('PTTL', keys[1])
  -- Rounded again, the same minute may end a second earlier or later.
  if ttl <= 0 or math.abs(math.ceil((now_ms() + ttl) / SECOND_MS) - tonumber(ends_at)) > 1 then
    return 0
  end
  local counted = read_number(keys[1])
  if counted <= 0 then
    return 0
  end
  -- The users of workspaces have no DECRBY.
  redis.call('INCRBY', keys[1], digits(-bound(count or 1, counted)))
  return 1
end)

-- Charges what requests used, once for each marker. KEYS: the settlement's marker. ARGV: namespace, SHA-256 of the key, tokens, millionths, budgets (absent: none).
local MARKER_SECONDS = 600

register('settle', function(keys, namespace, sha256, tokens, micros, budgets)
  if not (is_amount(tokens) and is_amount(micros)) then
    return redis.error_reply('ERR Tokens and price must be whole numbers')
  end
  local now = now_ms()
  budgets = load_budgets(namespace, budgets or '', now)
  if not redis.call('SET', keys[1], '1', 'NX', 'EX', MARKER_SECONDS) then
    return 0
  end
  charge_usage(namespace, sha256, tokens, micros, budgets, now)
  return 1
end)
