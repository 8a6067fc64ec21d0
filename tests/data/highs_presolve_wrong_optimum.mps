NAME        
ROWS
 N  Obj     
 G  r0      
 G  r1      
 L  r2      
 L  r3      
 L  r4      
 L  r5      
COLUMNS
    MARK0000  'MARKER'                 'INTORG'
    c0        Obj       1.5
    c0        r0        1
    c1        Obj       2
    c1        r0        1
    c1        r3        1
    c2        r0        1
    c3        Obj       0.5
    c3        r0        1
    c3        r4        1
    c4        Obj       2
    c4        r0        1
    c4        r5        1
    c5        Obj       0.75
    c5        r1        1
    c5        r2        1
    c5        r3        1
    c6        r1        1
    c6        r4        1
    c7        Obj       0.5
    c7        r1        1
    c8        Obj       0.75
    c8        r1        1
    c8        r2        1
    c8        r5        1
    c9        Obj       1
    c9        r1        1
    c10       Obj       1.25
    c10       r1        1
    MARK0001  'MARKER'                 'INTEND'
RHS
    RHS_V     r0        2
    RHS_V     r1        4
    RHS_V     r2        2
    RHS_V     r3        2
    RHS_V     r4        1
    RHS_V     r5        1
BOUNDS
 UI BOUND     c0        2
 UI BOUND     c1        2
 BV BOUND     c2      
 BV BOUND     c3      
 BV BOUND     c4      
 UI BOUND     c5        2
 BV BOUND     c6      
 BV BOUND     c7      
 BV BOUND     c8      
 BV BOUND     c9      
 BV BOUND     c10     
ENDATA
