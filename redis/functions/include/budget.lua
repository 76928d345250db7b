--- @include "clock", "memory", "numbers"
-- Budgets of keys and owners: money per calendar period in UTC (docs/budgets.md, "When a budget is used up").

-- One as text: `key:<name>` or `owner:<name>`, millionths, its period, and percentages at which it warns, with `,` between.
local BUDGET = '^(%l+:[%w._@-]+),(%d+),(%u%l+)([,%d]*)$'
-- Charges are refunded before so much time has passed since the end of their period.
local REFUND_SECONDS = 26 * DAY_SECONDS

-- The day since 1970 on which a month begins; months are counted from the year 0. Shifted years start in March, so that a
-- leap day is their last.
local function first_day(month)
  local shifted = month - 2
  local year = math.floor(shifted / 12)
  return 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
    + math.floor((153 * (shifted % 12) + 2) / 5) - 719468
end

-- A day's period: its number and the day after it. Weeks begin on Monday.
local PERIODS = {
  Day = function(day)
    return day, day + 1
  end,
  Week = function(day)
    local week = math.floor((day + 3) / 7)
    return week, 7 * week + 4
  end,
  Month = function(day)
    -- An estimate that is never too late.
    local month = math.floor((day + 719527) / 30.436875) - 1
    while first_day(month + 1) <= day do
      month = month + 1
    end
    return month, first_day(month + 1)
  end,
}

-- Texts that were read today: a busy key sends the same with each request.
local MAX_PARSED = 1000
local parsed = { budgets = {}, count = 0, day = 0 }

local function parse_budgets(text, day)
  local budgets = {}
  for part in string.gmatch(#text <= MAX_BUDGETS_BYTES and text or ',', '[^;]+') do
    local holder, amount, period, warn_at = string.match(part, BUDGET)
    if not holder or not PERIODS[period] or not is_amount(amount) or #budgets == MAX_BUDGETS then
      error('Not a budget: ' .. string.sub(part, 1, MAX_FIELD_BYTES))
    end
    local number, next_day = PERIODS[period](day)
    local counter = holder .. ':' .. period .. ':' .. digits(number)
    budgets[#budgets + 1] = {
      holder = holder, amount = tonumber(amount), period = period, warn_at = warn_at, counter = counter,
      -- Each amount warns by itself: a raised budget again, also while calls with the earlier one are in flight.
      warnings = counter .. ':' .. amount, ends_at = next_day * DAY_SECONDS,
    }
  end
  return budgets
end

-- The budgets that bound a key, as text: its own, then its owner's. `owned`: that of the owner, if it was read before.
local function list_budgets(namespace, key, owned)
  if owned == nil then
    owned = key.own and redis.call('HGET', config_workspace_key(namespace), 'owner:' .. key.own)
  end
  local texts = { key.bud and 'key:' .. key.n .. ',' .. key.bud }
  texts[#texts + 1] = owned and 'owner:' .. key.own .. ',' .. owned or nil
  return table.concat(texts, ';')
end

-- The budgets of a text, with `;` between, in their current periods, with what is spent. Fails for any other text. They are
-- valid until the next call.
local function load_budgets(namespace, text, now)
  if text == '' then
    return {}
  end
  local day = math.floor(now / SECOND_MS / DAY_SECONDS)
  if parsed.day ~= day or parsed.count > MAX_PARSED then
    parsed = { budgets = {}, count = 0, day = day }
  end
  local budgets = parsed.budgets[text]
  if not budgets then
    budgets = parse_budgets(text, day)
    parsed.budgets[text], parsed.count = budgets, parsed.count + 1
  end
  for _, budget in ipairs(budgets) do
    budget.spent = read_number(spent_key(namespace, budget.counter))
  end
  return budgets
end

-- A budget as callers are told: holder, millionths, period, and when it ends in Unix seconds.
local function describe_budget(budget)
  budget.text = budget.text
    or table.concat({ budget.holder, digits(budget.amount), budget.period, digits(budget.ends_at) }, ',')
  return budget.text
end

-- The first budget into which a price does not fit, as callers are told, with the millionths that it has left; nil if it
-- fits into all.
local function find_exhausted(budgets, price)
  for _, budget in ipairs(budgets) do
    if budget.spent >= budget.amount or budget.spent + price > budget.amount then
      return describe_budget(budget) .. ',' .. digits(math.max(0, budget.amount - math.max(0, budget.spent)))
    end
  end
end

local function write_amount(micros)
  return (string.gsub(string.format('%.6f', micros / 1000000), '%.?0+$', ''))
end

-- One event per budget, period, amount and percentage: its id follows from these.
local function write_warning(namespace, budget, threshold, now)
  local event = 'evt_' .. string.sub(redis.sha1hex(namespace .. ' ' .. budget.warnings .. ' ' .. threshold), 1, 32)
  local kind, name = string.match(budget.holder, '^(%l+):(.*)$')
  local row = table.concat({
    '\n{"id":"', event, '","type":"budget.warning","created_at":', digits(math.floor(now / SECOND_MS)),
    ',"data":{"namespace_name":"', namespace, '","budget":"', kind, '","name":"', name, '","threshold":', threshold,
    ',"spent":"', write_amount(budget.spent), '","amount":"', write_amount(budget.amount), '","period":"', budget.period,
    '","period_ends_at":', digits(budget.ends_at), '}}',
  })
  note_written(#row)
  redis.call('SET', event_key(namespace, event), row)
  redis.call('ZADD', outbox_key(namespace), digits(now), event)
  redis.call('PUBLISH', events_channel(namespace), '1')
end

-- Adds a charge to budgets. Returns their counters, which a refund needs, with `;` between.
local function spend_budgets(namespace, budgets, micros, now)
  local counters = {}
  for i, budget in ipairs(budgets) do
    local key, warned = spent_key(namespace, budget.counter), warned_key(namespace, budget.warnings)
    local seconds = digits(budget.ends_at - math.floor(now / SECOND_MS) + REFUND_SECONDS)
    add_number(key, micros)
    redis.call('EXPIRE', key, seconds)
    budget.spent = budget.spent + tonumber(micros)
    local most = nil
    for threshold in string.gmatch(budget.warn_at, '%d+') do
      if budget.spent * 100 >= budget.amount * tonumber(threshold) then
        if not most then
          -- Never fails, as the charge is counted by now.
          local ok, value = pcall(read_number, warned)
          most = ok and value or 0
        end
        if tonumber(threshold) > most then
          most = tonumber(threshold)
          redis.call('SET', warned, threshold, 'EX', seconds)
          write_warning(namespace, budget, threshold, now)
        end
      end
    end
    counters[i] = budget.counter
  end
  return table.concat(counters, ';')
end

-- Returns a charge to the periods in which it was made.
local function refund_budgets(namespace, counters, micros)
  for counter in string.gmatch(#counters <= MAX_BUDGETS_BYTES and counters or '', '[^;]+') do
    local key = spent_key(namespace, counter)
    if redis.call('EXISTS', key) == 1 then
      add_number(key, digits(-micros))
    end
  end
end
