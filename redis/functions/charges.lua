--- @include "budget", "clock", "credit", "numbers", "register"
-- Charges of synchronous requests: `charge`, `refund`.
-- Longer than the call of a refunded charge may still be in flight.
local CHARGE_SECONDS = 1200
-- An image may take as long as a timer can wait.
local MAX_CHARGE_SECONDS = 25 * DAY_SECONDS

-- Debits the price of a synchronous request. KEYS: the marker of the caller's token. ARGV: namespace, price in
-- millionths, seconds for which it can be refunded (absent: 20 minutes), budgets that bound the key (absent: none). Returns
-- `ok`, also for a repeat; `credit` if what is left is insufficient; `budget` and which one, if that is.
register('charge', function(keys, namespace, price, remember_seconds, budgets)
  if not is_amount(price) then
    return redis.error_reply('ERR The price must be a whole number')
  end
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'ok'
  end
  if not afford(namespace, price, redis.call('HGET', config_workspace_key(namespace), 'creditMicros')) then
    return 'credit'
  end
  local now = now_ms()
  budgets = load_budgets(namespace, budgets or '', now)
  local exhausted = find_exhausted(budgets, tonumber(price))
  if exhausted then
    return 'budget ' .. exhausted
  end
  if price ~= '0' then
    local seconds = math.max(CHARGE_SECONDS, bound(remember_seconds or 0, MAX_CHARGE_SECONDS))
    local counters = spend_budgets(namespace, budgets, price, now)
    redis.call('SET', keys[1], counters == '' and price or price .. ' ' .. counters, 'EX', digits(seconds))
    add_number(credit_key(namespace), price)
  end
  return 'ok'
end)

-- Refunds a token's charge, once; if there was none yet, a late charge debits nothing.
-- KEYS: the marker of the caller's token. ARGV: namespace. Returns 1 if something was refunded.
register('refund', function(keys, namespace)
  local marker = redis.call('GETRANGE', keys[1], 0, MAX_NUMBER_BYTES + MAX_BUDGETS_BYTES)
  local amount, counters = string.match(marker, '^(%d+) ?(.*)$')
  local price = parse_number(amount or '')
  redis.call('SET', keys[1], '0', 'EX', CHARGE_SECONDS)
  if price <= 0 then
    return 0
  end
  add_number(credit_key(namespace), digits(-price))
  refund_budgets(namespace, counters, price)
  return 1
end)
