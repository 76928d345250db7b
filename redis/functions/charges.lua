--- @include "clock", "credit", "numbers", "register"
-- Charges of synchronous requests: `charge`, `refund`.
-- Longer than the call of a refunded charge may still be in flight.
local CHARGE_SECONDS = 1200
-- An image may take as long as a timer can wait.
local MAX_CHARGE_SECONDS = 25 * DAY_SECONDS

-- Debits the price of a synchronous request. KEYS: the marker of the caller's token. ARGV: namespace, price in
-- millionths, seconds for which it can be refunded (absent: 20 minutes). Returns `ok`, also for a repeat, or `credit` if
-- what is left is insufficient.
register('charge', function(keys, namespace, price, remember_seconds)
  if not is_amount(price) then
    return redis.error_reply('ERR The price must be a whole number')
  end
  if redis.call('EXISTS', keys[1]) == 1 then
    return 'ok'
  end
  if not afford(namespace, price, redis.call('HGET', config_workspace_key(namespace), 'creditMicros')) then
    return 'credit'
  end
  if price ~= '0' then
    local seconds = math.max(CHARGE_SECONDS, bound(remember_seconds or 0, MAX_CHARGE_SECONDS))
    redis.call('SET', keys[1], price, 'EX', digits(seconds))
    add_number(credit_key(namespace), price)
  end
  return 'ok'
end)

-- Refunds a token's charge, once; if there was none yet, a late charge debits nothing.
-- KEYS: the marker of the caller's token. ARGV: namespace. Returns 1 if something was refunded.
register('refund', function(keys, namespace)
  local price = read_number(keys[1])
  redis.call('SET', keys[1], '0', 'EX', CHARGE_SECONDS)
  if price <= 0 then
    return 0
  end
  add_number(credit_key(namespace), digits(-price))
  return 1
end)
