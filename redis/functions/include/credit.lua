--- @include "numbers"
-- A workspace's credit.

-- Whether a price fits into the remaining credit; nil or false = unlimited.
local function afford(namespace, price, granted)
  if not granted then
    return true
  end
  local spent = read_number(credit_key(namespace))
  return spent < tonumber(granted) and spent + tonumber(price) <= tonumber(granted)
end
