/** A condition on `invoice`: the list that it would stand on was proven, so that it has left when it is not on it. */
export const listIsProven = `EXISTS (SELECT 1 FROM invoice_group g WHERE g.is_proven=1
    AND (g.list_customer='' OR g.list_customer=invoice.customer_code))`;
