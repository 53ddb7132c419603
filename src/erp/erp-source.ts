import type { AmountsSettings, CustomersSettings, ErpSettings, OrdersSettings } from '../config/erp-settings.js';

/** The sections of the settings that say how an ERP is read. Passwords are resolved already. */
export interface ErpSource {
  erp: ErpSettings;
  customers: CustomersSettings;
  orders: OrdersSettings;
  amounts: AmountsSettings;
}
